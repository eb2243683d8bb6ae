package compare

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
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

// Builds returns the builds that the experiment on the compiler's options
// compares: with and without the instructions of x86-64-v3, which allow the
// compiler to fuse multiplications and additions, and with and without bounds
// checks.
func Builds() []Build {
	unchecked := modulePath() + "/...=-B"
	return []Build{
		{"v1", "v1", ""},
		{"v3", "v3", ""},
		{"v1 -B", "v1", unchecked},
		{"v3 -B", "v3", unchecked},
	}
}

// compiled names the variants of the experiment: loops whose speed is the
// compiler's doing.
var compiled = []string{"serial/naive", "serial/ikj", "serial/unrolled", "serial/hinted", "serial/blocked", "serial/packed"}

// measureBuild builds this program with the options of the cases and has the
// child measure them.
func (d *Driver) measureBuild(ctx context.Context, cases []Case) ([]Record, error) {
	doc, err := d.child(ctx, cases)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var run RunInfo
	if err == nil {
		run = doc.Runs[0]
		run.Host = d.host.ID
	}
	var records []Record
	for _, c := range cases {
		r := c.record()
		status := Failed
		if errors.Is(err, gemm.ErrUnavailable) {
			status = Unavailable
		}
		r.Host, r.Run, r.Status = d.host.ID, d.run.ID, status
		if err != nil {
			r.Reason = err.Error()
		} else if m, ok := childRow(doc.Records, r); ok {
			m.Host, m.Run, m.Experiment, m.Build, m.Params = r.Host, run.ID, r.Experiment, r.Build, r.Params
			m.Turn, m.Ceiling = r.Turn, r.Ceiling // it had the turn to itself
			if peak, ok := d.ceiling(m.Type, m.Threads); ok && m.Speed() {
				m.PercentPeak = Number(100 * float64(m.Gflops) / peak)
			}
			r = m
		} else {
			r.Reason = "the build returned no such row"
		}
		records = append(records, r)
	}
	if err != nil {
		return records, nil
	}
	for i := range doc.Measurements {
		doc.Measurements[i].Host = d.host.ID
		doc.Measurements[i].Params["build"] = cases[0].Build
	}
	return records, errors.Join(d.Store.PutRun(run), d.Store.PutMeasurements(doc.Measurements...))
}

// childRow finds the row of the child that r asked for.
func childRow(rows []Record, r Record) (Record, bool) {
	for _, m := range rows {
		if m.Variant == r.Variant && m.Type == r.Type && m.M == r.M && m.N == r.N && m.K == r.K {
			return m, true
		}
	}
	return Record{}, false
}

// child builds the program for the cases, which share a build, runs it and
// returns what it measured in its one run.
func (d *Driver) child(ctx context.Context, cases []Case) (Document, error) {
	if runtime.GOARCH != "amd64" {
		return Document{}, gemm.Unavailablef("GOAMD64 is an option for amd64, this is %s", runtime.GOARCH)
	}
	var build Build
	for _, b := range Builds() {
		if b.Name == cases[0].Build {
			build = b
		}
	}
	scratch, err := output.NewScratch("build")
	if err != nil {
		return Document{}, err
	}
	defer scratch.Remove()
	program := filepath.Join(scratch.Path, "gemm")
	if err := build.compile(ctx, program); err != nil {
		return Document{}, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, d.Serial(cases, d.Budget, d.Seed)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := child.Run(cmd, stopTime)
	doc, err := Parse(stdout.Bytes())
	if err != nil || len(doc.Runs) != 1 {
		// A row that is wrong makes the child fail too, but with its records written.
		return Document{}, fmt.Errorf("build %s: %w: %s", build.Name, errors.Join(runErr, err), lastLine(stderr.String()))
	}
	return doc, nil
}

// compile builds cmd/gemm with b's options from the source that this program is
// run in or beside.
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
	// As this program was built, but for b's options: what is compiled already is
	// found, and git is asked only where it answered before.
	args := []string{"build", "-buildvcs=" + strconv.FormatBool(buildSetting("vcs.revision") != ""), "-gcflags=" + b.Gcflags}
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

// buildSetting returns how this program was built, empty where that is not known.
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
