// Package launch starts ranks of a program by mpirun, and says in one line what ended
// them. It needs no MPI of its own.
package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gemm"
	"gemm/internal/child"
	"gemm/internal/cpu"
	"gemm/internal/output"
)

// Find returns the mpirun on PATH. The error wraps gemm.ErrUnavailable.
func Find() (string, error) {
	path, err := exec.LookPath("mpirun")
	if err != nil {
		return "", gemm.Unavailablef("there is no mpirun on PATH").
			WithRemedy("install openmpi-bin, and libopenmpi-dev to build with")
	}
	return path, nil
}

// Version returns the name and version of mpirun, as it says them.
func Version(ctx context.Context, mpirun string) (string, error) {
	cmd := exec.CommandContext(ctx, mpirun, "--version")
	var said strings.Builder
	cmd.Stdout = &said
	if err := child.Run(cmd, termTime); err != nil {
		return "", fmt.Errorf("%s --version: %w", mpirun, err)
	}
	first, _, _ := strings.Cut(said.String(), "\n")
	return strings.TrimPrefix(strings.TrimSpace(first), "mpirun "), nil
}

// Place is what the arguments of mpirun depend on.
type Place struct {
	Cores, Processors int // that this process may use; a core has one processor or more
	Root              bool
}

// Here describes this process.
func Here() Place {
	p := Place{Root: os.Geteuid() == 0}
	allowed := map[int]bool{}
	for _, id := range cpu.Places() {
		allowed[id] = true
	}
	cores := map[[2]int]bool{}
	for _, c := range cpu.Topology() {
		if allowed[c.ID] {
			cores[[2]int{c.Package, c.Core}] = true
			p.Processors++
		}
	}
	if p.Cores = len(cores); p.Cores == 0 { // they are not known
		p.Processors = cpu.Host().Cores
		p.Cores = p.Processors
	}
	return p
}

// Arguments returns the arguments with which mpirun starts the given number of ranks of the
// command, and a line for each argument that this host requires. Ranks are not bound: they choose
// their processors themselves.
func (p Place) Arguments(ranks int, command ...string) (arguments, warnings []string) {
	arguments = []string{"-n", strconv.Itoa(ranks), "--bind-to", "none"}
	with := func(flag, why string) {
		arguments = append(arguments, flag)
		warnings = append(warnings, fmt.Sprintf("mpirun is given %s: %s", flag, why))
	}
	switch {
	case ranks > p.Processors:
		with("--oversubscribe", fmt.Sprintf("%d ranks share %d processors, so times depend on the scheduler",
			ranks, p.Processors))
	case ranks > p.Cores:
		with("--use-hwthread-cpus", fmt.Sprintf("%d ranks on %d cores share them by hardware threads", ranks, p.Cores))
	}
	if p.Root {
		with("--allow-run-as-root", "it is started by root")
	}
	return append(arguments, command...), warnings
}

// segments are the settings of Open MPI for the folders of memory that ranks share.
var segments = []string{"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory",
	"OMPI_MCA_osc_sm_backing_directory", "OMPI_MCA_osc_rdma_backing_directory"}

// sharedFolder is where Open MPI puts shared memory by itself.
const sharedFolder = "/dev/shm"

// scratch makes folders of this job's own for the files of mpirun and the memory that ranks
// share, so that what a job leaves that was killed is known by where it is. It returns the
// environment of mpirun. Settings that are there stay as they are.
func scratch() (environment []string, remove func(), err error) {
	session, err := output.NewScratch("ranks")
	if err != nil {
		return nil, nil, err
	}
	environment = append(os.Environ(), "TMPDIR="+session.Path)
	shared, err := output.NewScratchIn(sharedFolder, "ranks")
	if err != nil { // a system without that folder
		return environment, session.Remove, nil
	}
	for _, name := range segments {
		if _, ok := os.LookupEnv(name); !ok {
			environment = append(environment, name+"="+shared.Path)
		}
	}
	return environment, func() {
		session.Remove()
		shared.Remove()
	}, nil
}

// Furnish creates the folder for the memory that ranks share; on hosts other than that of mpirun it
// may not exist. A rank calls Furnish before it begins MPI, and leave at its end.
func Furnish() (leave func()) {
	folder := os.Getenv(segments[0])
	if !strings.HasPrefix(filepath.Base(folder), "gemm-ranks-") || os.Mkdir(folder, 0o700) != nil {
		return func() {}
	}
	return func() { _ = os.Remove(folder) } // unless another rank still has memory there
}

// How long mpirun has to end its ranks, and then its output to end.
const (
	termTime  = 5 * time.Second
	drainTime = 2 * time.Second
)

// Run runs mpirun with the arguments until it ends. The error is one line that says what
// happened to the ranks. Where the context ends, mpirun is told to end them, and is killed
// if it does not; then the error is the context's. Neither mpirun nor a rank that called
// child.Follow outlives this process. What ranks write to standard output is lost. The files
// and the shared memory that they leave are removed.
func Run(ctx context.Context, mpirun string, arguments ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	environment, remove, err := scratch()
	if err != nil {
		return err
	}
	defer remove()
	var said words
	cmd := exec.Command(mpirun, arguments...)
	cmd.Env = environment
	cmd.Stderr, cmd.WaitDelay = &said, drainTime
	ended, err := child.Start(cmd, syscall.SIGTERM)
	if err != nil {
		return fmt.Errorf("%s cannot be started: %w", mpirun, err)
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		terminate(cmd)
		select {
		case <-ended:
		case <-time.After(termTime):
			kill(cmd)
			<-ended
		}
		return ctx.Err()
	}
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return errors.New(said.reason(cmd.ProcessState.String()))
}
