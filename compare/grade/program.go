package grade

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gemm"
	"gemm/internal/ipc"
	"gemm/internal/note"
	"gemm/internal/peer"
	"gemm/user"
)

// mpiCompilers are the compilers of programs by language.
var mpiCompilers = map[string][]string{"C": {"mpicc"}, "C++": {"mpicxx", "mpic++"}, "Fortran": {"mpifort", "mpif90"}}

// programLimits are the limits of a program of the assignment in a folder, and of its compiler.
func (g *grader) programLimits(folder string) (*peer.Limits, error) {
	holder, err := peer.Program()
	l := g.limits()
	return &peer.Limits{Holder: holder, Folder: folder, Write: true, Memory: max(l.Memory, 4<<30), File: l.File,
		Processes: l.Processes + 16*g.Assignment.Rules.Ranks}, err
}

// openProgram compiles the sources of a program in the folder, and returns its variant and what the compiler printed.
func (g *grader) openProgram(ctx context.Context, k user.Kernel, folder, name string) (v gemm.Variant, said string,
	err error) {
	limits, err := g.programLimits(folder)
	if err != nil {
		return v, "", err
	}
	names := mpiCompilers[k.Language()]
	c, err := peer.FindCompiler(ctx, "", names)
	if errors.Is(err, peer.ErrNoCompiler) {
		return v, "", fmt.Errorf("no compiler for %s with MPI among %s", language(k.Path), strings.Join(names, ", "))
	} else if err != nil {
		return v, "", err
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		return v, "", err
	}
	c.Limits = limits
	file := filepath.Join(folder, "program")
	words := append(strings.Fields(g.Assignment.Rules.Options), "-o", file, k.Path)
	said, err = c.Run(ctx, g.Assignment.Rules.Compile, append(append(words, k.More...), "-lm")...)
	if err != nil {
		return v, said, fmt.Errorf("%s does not compile: %s", k.Path, user.FirstError(said, err))
	}
	p := program{g: g, file: file, data: folder + ".data"}
	v = gemm.Variant{Name: name, Doc: "a program with main, " + filepath.Base(k.Path), Role: gemm.UserKernel,
		Can: gemm.Stages, Bound: gemm.Classical,
		Params: []gemm.Param{{Name: "threads", Doc: "of the ranks", Default: g.Assignment.Rules.Ranks, Min: 1}},
		F64:    func(gemm.Params) (gemm.Multiplier[float64], error) { return multiplier[float64]{p}, nil },
		F32:    func(gemm.Params) (gemm.Multiplier[float32], error) { return multiplier[float32]{p}, nil },
	}
	return v, said, nil
}

// program is a compiled program, and the folder of the files of a product.
type program struct {
	g          *grader
	file, data string
}

// multiplier is a program that multiplies files.
type multiplier[T gemm.Float] struct{ program }

func (x multiplier[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return peer.Multiply(ctx, x, c, a, b)
}

func (x multiplier[T]) Stage(_ context.Context, c, a, b gemm.Matrix[T]) (gemm.Run, error) {
	return &files[T]{program: x.program, c: c, a: encoded(a), b: encoded(b),
		tol:  peer.Tolerance(1, 0, a.Cols, []gemm.Matrix[T]{c}, []gemm.Matrix[T]{a}, []gemm.Matrix[T]{b}),
		dims: []string{strconv.Itoa(c.Rows), strconv.Itoa(c.Cols), strconv.Itoa(a.Cols)}}, gemm.CheckShapes(c, a, b)
}

func encoded[T gemm.Float](x gemm.Matrix[T]) []byte {
	var out bytes.Buffer
	for i := range x.Rows {
		_ = binary.Write(&out, binary.NativeEndian, x.Row(i)) // to memory
	}
	return out.Bytes()
}

// files is a product of files.
type files[T gemm.Float] struct {
	program
	c    gemm.Matrix[T]
	dims []string
	a, b []byte
	last []T     // C of the last call
	tol  float64 // by which the results of two calls may differ
}

// Do implements gemm.Run. It measures the time of the command. Each call has a folder and processes of its own.
func (p *files[T]) Do(ctx context.Context) (cost gemm.Cost, err error) {
	limits, err := p.g.programLimits(p.data)
	if err != nil {
		return cost, err
	}
	limits.Read = []string{filepath.Dir(p.file)}
	path, err := exec.LookPath("mpirun")
	if err != nil {
		return cost, gemm.Unavailablef("there is no mpirun").WithRemedy("install Open MPI or MPICH")
	}
	err = errors.Join(os.RemoveAll(p.data), os.Mkdir(p.data, 0o777), os.Chmod(p.data, 0o777),
		os.WriteFile(filepath.Join(p.data, "A"), p.a, 0o644), os.WriteFile(filepath.Join(p.data, "B"), p.b, 0o644))
	if err != nil {
		return cost, err
	}
	words := append([]string{"-n", strconv.Itoa(p.g.Assignment.Rules.Ranks), p.file}, p.dims...)
	cmd := limits.Confine(exec.CommandContext(ctx, path, append(words, "A", "B", "C")...))
	cmd.Env = append(cmd.Env, "OMPI_MCA_plm=isolated", "OMPI_MCA_rmaps_base_oversubscribe=1",
		"OMP_NUM_THREADS="+strconv.Itoa(p.g.Assignment.Rules.Threads))
	var said ipc.Tail
	cmd.Stdout, cmd.Stderr = &said, &said
	start := time.Now()
	err = ipc.Run(cmd, time.Second)
	cost.Time = time.Since(start)
	switch {
	case ctx.Err() != nil:
		return cost, ctx.Err()
	case err != nil && cmd.ProcessState != nil:
		return cost, ipc.NewExitError("its process", cmd.ProcessState, &said)
	case err != nil:
		return cost, err
	}
	return cost, p.read()
}

// read reads C, and compares it with the C of the last call.
func (p *files[T]) read() error {
	name := filepath.Join(p.data, "C")
	want := p.c.Rows * p.c.Cols
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() ||
		info.Size() != int64(want)*int64(gemm.TypeOf[T]().Size) {
		return note.Wrong{Reason: "it does not write the file C with all elements"}
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	now := make([]T, want)
	if err := binary.Read(file, binary.NativeEndian, now); err != nil {
		return err
	}
	for i, x := range p.last {
		if diff := float64(now[i]) - float64(x); !(diff <= p.tol && -diff <= p.tol) {
			return note.Wrong{Reason: fmt.Sprintf("element (%d, %d) of C is %.9g in one call and %.9g in another one",
				i/p.c.Cols, i%p.c.Cols, x, now[i])}
		}
	}
	p.last = now
	return nil
}

// Collect implements gemm.Run.
func (p *files[T]) Collect(ctx context.Context) error {
	for i, x := range p.last {
		p.c.Set(i/p.c.Cols, i%p.c.Cols, x)
	}
	return ctx.Err()
}

// Close implements gemm.Run.
func (p *files[T]) Close() error { return os.RemoveAll(p.data) }
