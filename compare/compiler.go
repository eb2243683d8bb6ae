package compare

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"gemm"
	"gemm/internal/child"
	"gemm/internal/output"
)

// Build is a build of this program with other compiler options.
type Build struct {
	Name    string // as in Record.Build
	GOAMD64 string
	Gcflags string
}

// Builds returns the builds that the experiment on compiler options compares: with and without the
// instructions of x86-64-v3, which let the compiler fuse a multiplication and an addition; and with
// and without bounds checks.
func Builds() []Build {
	unchecked := modulePath() + "/...=-B"
	return []Build{
		{"v1", "v1", ""},
		{"v3", "v3", ""},
		{"v1 -B", "v1", unchecked},
		{"v3 -B", "v3", unchecked},
	}
}

// buildOf returns the build with the name.
func buildOf(name string) Build {
	i := slices.IndexFunc(Builds(), func(b Build) bool { return b.Name == name })
	return Builds()[i]
}

// cFlags is the parameter of programs in C that has the options of their compiler.
const cFlags = "cflags"

// isOptions reports whether a parameter is cFlags with values to choose from.
func isOptions(q gemm.Param) bool { return q.Name == cFlags && len(q.Choices) > 0 }

// compilation is the process of a build of this program with other options of the compiler.
type compilation struct {
	Build
	serve func(ctx context.Context, program string) *exec.Cmd
}

func (b compilation) names() names {
	silent := errors.New(b.name() + " hangs: it shows no sign of life")
	return names{b.name(), b.name() + " was started again", silent, silent}
}

func (b compilation) name() string { return "build " + b.Name }

// run implements process.
func (b compilation) run(ctx context.Context, task []byte, out io.Writer) error {
	if runtime.GOARCH != "amd64" {
		return gemm.Unavailablef("GOAMD64 is an option for amd64, this is %s", runtime.GOARCH)
	}
	scratch, err := output.NewScratch("build")
	if err != nil {
		return err
	}
	defer scratch.Remove()
	program := filepath.Join(scratch.Path, "gemm")
	if err := b.compile(ctx, program); err != nil {
		return err
	}
	return talk(b.serve(ctx, program), b.name(), task, out, stopTime)
}

// meet implements process: rows of a build are of a run of their own, which this command started.
func (b compilation) meet(d *Driver, f found) (string, error) {
	f.Run.Host, f.Run.Command = d.host.ID, d.Command
	for i := range f.Measurements {
		m := &f.Measurements[i]
		m.Host, m.Run, m.Params["build"] = d.host.ID, f.Run.ID, b.Name
	}
	return f.Run.ID, errors.Join(d.Store.PutRun(f.Run), d.Store.PutMeasurements(f.Measurements...))
}

// complete implements process: nothing is missing.
func (compilation) complete(*Driver, *Record) {}

// compile builds cmd/gemm with the options of b. The source is in the working folder or next to
// this program.
func (b Build) compile(ctx context.Context, program string) error {
	root, err := sourceRoot()
	if err != nil {
		return err
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return gemm.Unavailablef("the go command is not on PATH").
			WithRemedy("install Go to build with other compiler options")
	}
	// The build options of this program, except those of b: so packages that are compiled already are in the
	// cache. git is called only if it worked when this program was built.
	args := []string{"build", "-buildvcs=" + strconv.FormatBool(buildSetting("vcs.revision") != ""),
		"-gcflags=" + b.Gcflags}
	if buildSetting("-trimpath") == "true" {
		args = append(args, "-trimpath")
	}
	cmd := exec.CommandContext(ctx, goTool, append(args, "-o", program, "./cmd/gemm")...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOAMD64="+b.GOAMD64, "CGO_ENABLED="+cmp.Or(buildSetting("CGO_ENABLED"), "0"))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := child.Run(cmd, stopTime); err != nil {
		return fmt.Errorf("go build with GOAMD64=%s -gcflags=%q: %w: %s", b.GOAMD64, b.Gcflags, err, lastLine(said.String()))
	}
	return nil
}

// modulePath returns the name of this module, which a publisher may change.
func modulePath() string { return reflect.TypeFor[gemm.Params]().PkgPath() }

// buildSetting returns a setting of this program's build; empty if it is not known.
func buildSetting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// sourceRoot returns the folder of this module: the working folder or the
// program's, or one above them.
func sourceRoot() (string, error) {
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, dir := range starts {
		for {
			mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if err == nil && strings.HasPrefix(string(mod), "module "+modulePath()+"\n") {
				return dir, nil
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return "", gemm.Unavailablef("the source of gemm is not here").
		WithRemedy("run it in a clone to build with other compiler options")
}

// lastLine returns the last line of s that is not empty.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
