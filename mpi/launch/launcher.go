package launch

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"gemm"
	"gemm/internal/ipc"
)

// Launcher is a program that starts ranks.
type Launcher struct {
	Path string
	Library
}

// launchers are the names of programs that start ranks of a family, those that belong to no other family
// first, except where a newer library of the user's has the common name.
var launchers = map[Family][]string{
	Unknown: {"mpirun", "mpiexec", "mpiexec.hydra"},
	OpenMPI: {"mpirun", "mpiexec", "mpirun.openmpi"},
	MPICH:   {"mpiexec.hydra", "mpirun.mpich", "mpirun", "mpiexec"},
}

// remedies say how to get a program that starts ranks of a family.
var remedies = map[Family]string{
	Unknown: "install openmpi-bin, and libopenmpi-dev to build with",
	OpenMPI: "install openmpi-bin, and libopenmpi-dev to build with",
	MPICH:   "install mpich, or start gemm mpi by what belongs to that library",
}

// Find returns the program on PATH that starts ranks of the library with this name and version, preferably one of
// the same major version; with no name, any. The error wraps gemm.ErrUnavailable.
func Find(ctx context.Context, library string) (Launcher, error) {
	of := Of(library)
	var best *Launcher
	var others []string
	for _, name := range launchers[of.Family] {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		l, err := launcherAt(ctx, path)
		switch {
		case err != nil:
			others = append(others, err.Error())
		case of.Family != Unknown && l.Family != of.Family:
			others = append(others, fmt.Sprintf("%s is of %s", name, l.Name))
		case of.Major == l.Major || of.Major == 0 || l.Major == 0:
			return l, nil
		case best == nil:
			best = &l
		}
	}
	if best != nil {
		return *best, nil
	}
	lacking := fmt.Sprintf("there is no %s on PATH", launchers[of.Family][0])
	if len(others) > 0 {
		lacking = fmt.Sprintf("there is no %s of %s on PATH: %s", launchers[of.Family][0], library,
			strings.Join(others, ", "))
	}
	return Launcher{}, gemm.Unavailablef("%s", lacking).WithRemedy("%s", remedies[of.Family])
}

// launcherAt runs the program with --version.
func launcherAt(ctx context.Context, path string) (Launcher, error) {
	cmd := exec.CommandContext(ctx, path, "--version")
	var said strings.Builder
	cmd.Stdout = &said
	if err := ipc.Run(cmd, termTime); err != nil {
		return Launcher{}, fmt.Errorf("%s --version: %w", path, err)
	}
	return Launcher{path, libraryOf(said.String())}, nil
}

// Arguments returns the arguments with which l starts the given number of ranks of the command from the place, and a
// line for each argument that this host requires. Ranks are not bound: they choose their processors themselves.
func (l Launcher) Arguments(p Resources, ranks int, command ...string) (arguments, warnings []string) {
	name := filepath.Base(l.Path)
	with := func(why string, flags ...string) {
		arguments = append(arguments, flags...)
		if len(flags) > 0 {
			why = fmt.Sprintf("%s is given %s: %s", name, strings.Join(flags, " "), why)
		}
		warnings = append(warnings, why)
	}
	crowded := fmt.Sprintf("%d ranks share %d processors, so times depend on the scheduler", ranks, p.Processors)
	threaded := fmt.Sprintf("%d ranks on %d cores share them by hardware threads", ranks, p.Cores)
	arguments = []string{"-n", strconv.Itoa(ranks)}
	if l.Family == MPICH { // it starts any number of ranks, by any user
		arguments = append(arguments, "-bind-to", "none")
		if ranks > p.Processors {
			with(crowded)
		}
		return append(arguments, command...), warnings
	}
	share, thread := []string{"--oversubscribe"}, []string{"--use-hwthread-cpus"}
	// Version 5 warns of those two, and leaves all ranks on the first host if only OVERSUBSCRIBE is given.
	if l.Major >= 5 {
		share, thread = []string{"--map-by", "node:OVERSUBSCRIBE"}, []string{"--map-by", ":HWTCPUS"}
	}
	arguments = append(arguments, "--bind-to", "none")
	switch {
	case ranks > p.Processors:
		with(crowded, share...)
	case ranks > p.Cores:
		with(threaded, thread...)
	}
	if p.Root {
		with("it is started by root", "--allow-run-as-root")
	}
	return append(arguments, command...), warnings
}
