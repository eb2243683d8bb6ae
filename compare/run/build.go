package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/internal/ipc"
	"gemm/internal/output"
)

// build is the process of a build of this program with other options of the compiler.
type build struct {
	plan.Build
	*Executors
}

// run implements process.
func (b build) run(ctx context.Context, task []byte, out io.Writer) error {
	if runtime.GOARCH != "amd64" {
		return gemm.Unavailablef("GOAMD64 is an option for amd64, this is %s", runtime.GOARCH)
	}
	scratch, err := output.NewScratch("build")
	if err != nil {
		return err
	}
	defer scratch.Remove()
	program := filepath.Join(scratch.Path, "gemm-build")
	if err := compile(ctx, b.Build, program); err != nil {
		return err
	}
	return execute(b.Executors.Build(ctx, program), "build "+b.Name, task, out, stopTime)
}

// merge implements process: rows of a build are of a run of their own, which this command started.
func (b build) merge(f Found, to Sink) (run, warning string, err error) {
	f.Run.Host, f.Run.Command = b.Bench.Host.ID, b.Info.Command
	for i := range f.Measurements {
		m := &f.Measurements[i]
		m.Host, m.Run, m.Params["build"] = b.Bench.Host.ID, f.Run.ID, b.Name
	}
	return f.Run.ID, "", to.Put(record.Document{Runs: []record.RunInfo{f.Run}, Measurements: f.Measurements})
}

// compile builds cmd/gemm-build with the options of b. The source is in the working folder or next to this program.
func compile(ctx context.Context, b plan.Build, program string) error {
	root, err := sourceRoot()
	if err != nil {
		return err
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return gemm.Unavailablef("the go command is not on PATH").
			WithRemedy("install Go to build with other compiler options")
	}
	// With the other build options of this program, so that compiled packages are in the cache. git is called only if
	// it worked when this program was built.
	settings := record.BuildSettings()
	args := []string{"build", "-buildvcs=" + strconv.FormatBool(settings["vcs.revision"] != ""),
		"-gcflags=" + b.Gcflags}
	if settings["-trimpath"] == "true" {
		args = append(args, "-trimpath")
	}
	cmd := exec.CommandContext(ctx, goTool, append(args, "-o", program, "./cmd/gemm-build")...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOAMD64="+b.GOAMD64, "CGO_ENABLED=0")
	var said ipc.Tail
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := ipc.Run(cmd, stopTime); err != nil {
		return fmt.Errorf("go build with GOAMD64=%s -gcflags=%q: %w: %s", b.GOAMD64, b.Gcflags, err, said.Reason())
	}
	return nil
}

// sourceRoot returns the folder of this module: the working folder or the program's, or one above them.
func sourceRoot() (string, error) {
	work, _ := os.Getwd()
	program, _ := os.Executable()
	for _, dir := range []string{work, filepath.Dir(program)} {
		for last := ""; dir != last; last, dir = dir, filepath.Dir(dir) {
			mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if err == nil && strings.HasPrefix(string(mod), "module "+plan.Module()+"\n") {
				return dir, nil
			}
		}
	}
	return "", gemm.Unavailablef("the source of gemm is not here").
		WithRemedy("run it in a clone to build with other compiler options")
}
