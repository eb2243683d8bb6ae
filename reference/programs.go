package reference

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gemm"
	"gemm/internal/cpu"
	"gemm/internal/output"
	"gemm/internal/peer"
	"gemm/serial"
)

// sources are the textbook programs in C. Each file has one function
//
//	void multiply(int m, int n, int k, const T *A, const T *B, T *C)
//
// of contiguous row-major matrices, where T is a macro: float or double.
//
//go:embed programs/*.c
var sources embed.FS

// native are the options of the 2024 report.
const native = "-O3 -march=native -funroll-loops"

// cFlags are the options that loops in C are compiled with: each level of optimization, and native.
var cFlags = []string{"-O0", "-O1", "-O2", "-O3", native}

// cCompilers are the compilers in the order in which they are tried. Clang needs a package of its own for OpenMP.
var cCompilers = []string{"gcc", "clang", "cc"}

// theCompiler is the compiler of all programs in C. The error is an ErrUnavailable.
var theCompiler = sync.OnceValues(findCompiler)

func findCompiler() (peer.Compiler, error) {
	c, err := peer.FindCompiler(context.Background(), "", cCompilers)
	if errors.Is(err, peer.ErrNoCompiler) {
		err = fmt.Errorf("there is no C compiler among %s", strings.Join(cCompilers, ", "))
	}
	if err != nil {
		return c, gemm.Unavailablef("%w", err).WithRemedy("install gcc")
	}
	return c, nil
}

// build compiles a program for an element type, unless it is in the user's cache folder, and returns
// its file. What -march=native means depends on the processor, so the file depends on it too.
func build(c peer.Compiler, name, element string, options ...string) (string, error) {
	text, err := sources.ReadFile("programs/" + name + ".c")
	if err != nil {
		return "", err
	}
	text = fmt.Appendf(text, "// %s, %s\n", c.Version, processor())
	flags := append([]string{"-shared", "-fPIC", "-DT=" + element}, options...)
	return peer.Source{Name: name, Text: text, Compilers: c.Command, Flags: flags}.File()
}

var processor = sync.OnceValue(func() string { return cpu.Host().Model })

// textbook is the product of a program in C, in a process of the program's own.
type textbook[T gemm.Float] struct {
	holder, file string                      // of the process, and of the program that it opens
	prepare      func(l *peer.Library) error // before each product
	resolved     gemm.Params
}

// newCompiled compiles a program with the options. The error is an ErrUnavailable if there is no
// compiler, if it refuses, or if programs have no processes of their own on this system.
func newCompiled[T gemm.Float](name, options string, more ...string) (*textbook[T], error) {
	if _, narrowed := cpu.Held(); narrowed && strings.Contains(options, "-march=native") {
		return nil, peer.NotHeld("-march=native compiles for all instructions of the processor")
	}
	c, err := theCompiler()
	if err != nil {
		return nil, err
	}
	holder, err := peer.Program()
	if err != nil {
		return nil, gemm.Unavailablef("a program in C has no process of its own: %w", err)
	}
	element := gemm.ByType(gemm.TypeOf[T]().Name, "double", "float", "", "", "")
	file, err := build(c, name, element, append(strings.Fields(options), more...)...)
	if errors.Is(err, output.ErrUntrusted) {
		return nil, gemm.Unavailablef("%w", err)
	}
	if err != nil {
		return nil, gemm.Unavailablef("%s with %s: %w", name, options, err).WithRemedy("install another gcc")
	}
	return &textbook[T]{holder: holder, file: file, prepare: func(*peer.Library) error { return nil },
		resolved: gemm.Params{"compiler": c.Version, "cflags": options, "process": "own"}}, nil
}

// idlePrograms are processes that hold programs in C and compute nothing, by the program's file.
var idlePrograms peer.Pool[string, *peer.Library]

// acquire returns a process that holds the program, one that is idle or a new one.
func (x *textbook[T]) acquire(ctx context.Context) (*peer.Library, error) {
	if l, ok := idlePrograms.Get(x.file); ok {
		return l, nil
	}
	l, err := peer.NewLibrary(x.holder)
	if err != nil {
		return nil, err
	}
	if err := l.OpenContext(ctx, x.file); err != nil {
		l.Kill()
		return nil, err
	}
	return l, nil
}

// Stage implements gemm.Stager: it copies a and b into a process of the program's own.
func (x *textbook[T]) Stage(ctx context.Context, c, a, b gemm.Matrix[T]) (gemm.Run, error) {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return nil, err
	}
	if c.Rows == 0 || c.Cols == 0 || a.Cols == 0 {
		return peer.Stage(ctx, nil, peer.Call{}, peer.Multiplication, c, a, b)
	}
	if err := indices(c.Rows, c.Cols, a.Cols); err != nil {
		return nil, err
	}
	l, err := x.acquire(ctx)
	if err != nil {
		return nil, err
	}
	var p *peer.Product[T]
	if err = x.prepare(l); err == nil {
		p, err = peer.Stage(ctx, l, peer.Call{ABI: peer.RowMajor, Symbol: "multiply"}, peer.Multiplication, c, a, b)
	}
	if err != nil {
		l.Kill()
		return nil, err
	}
	p.Release = func() { idlePrograms.Put(x.file, l) }
	return p, nil
}

func (x *textbook[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return peer.Multiply(ctx, x, c, a, b)
}

// Resolved implements gemm.Explainer: the compiler and its options, and the settings of OpenMP.
func (x *textbook[T]) Resolved() gemm.Params { return x.resolved }

// loopVariant returns a textbook loop in C. like is the variant with the same loop in Go.
func loopVariant(name, doc, like, parent string) gemm.Variant {
	same := serialVariant(like)
	return gemm.Variant{
		Name:   "reference/" + name,
		Doc:    doc,
		Parent: parent,
		Role:   gemm.Program,
		Class:  same.Class,
		Can:    gemm.Explains | ownCan,
		Params: []gemm.Param{{Name: "cflags", Doc: "options of the C compiler", Default: native,
			Choices: cFlags}},
		Model: programModel(like),
		Bound: gemm.Classical,
		F32: func(p gemm.Params) (gemm.Multiplier[float32], error) {
			return multiplierOf(newCompiled[float32](name, p.Text("cflags")))
		},
		F64: func(p gemm.Params) (gemm.Multiplier[float64], error) {
			return multiplierOf(newCompiled[float64](name, p.Text("cflags")))
		},
	}
}

// multiplierOf returns x as a Multiplier, which is nil if there is an error.
func multiplierOf[T gemm.Float](x *textbook[T], err error) (gemm.Multiplier[T], error) {
	if err != nil {
		return nil, err
	}
	return x, nil
}

func serialVariant(name string) gemm.Variant {
	v, err := gemm.Lookup(serial.Variants(), name)
	if err != nil {
		panic(err)
	}
	return v
}

// programModel returns the model of the same loops in Go, with copies of the operands.
func programModel(name string) func(gemm.Shape, gemm.Params) gemm.Model {
	same := serialVariant(name).Model
	return func(s gemm.Shape, _ gemm.Params) gemm.Model {
		model := same(s, nil)
		m, n, k := float64(s.M), float64(s.N), float64(s.K)
		model.Workspace += peer.Workspace(m, n, k)
		return model
	}
}

// ompSchedules are the schedules of OpenMP in the order of their numbers in openmp-collapse.c: default is the schedule
// of schedule(runtime) if none is set, and none is a loop without the clause schedule.
var ompSchedules = []string{"default", "static", "dynamic", "guided", "auto", "none"}

// processors is the number of processors that this program started with.
var processors = runtime.GOMAXPROCS(0)

// newOpenMPCollapse returns the product of openmp-collapse.c.
func newOpenMPCollapse[T gemm.Float](p gemm.Params) (gemm.Multiplier[T], error) {
	x, err := newCompiled[T]("openmp-collapse", native, "-fopenmp")
	if err != nil {
		return nil, err
	}
	threads := p.Int("threads")
	x.prepare = func(l *peer.Library) error {
		team, err := l.Integer("threads", threads)
		if err != nil {
			return err
		}
		if team < threads {
			return gemm.Unavailablef("OpenMP gives %d of %d threads", team, threads)
		}
		ran := 0
		if _, err = l.Integer("schedule", slices.Index(ompSchedules, p.Text("schedule"))); err == nil {
			ran, err = l.Integer("chunk", p.Int("chunk"))
		}
		if err == nil {
			x.resolved["schedule"] = ompSchedules[ran]
		}
		return err
	}
	for _, name := range []string{"threads", "schedule", "chunk"} {
		x.resolved[name] = p[name]
	}
	return x, nil
}

// collapseModel is the model of the loops ikj with a private C for each thread, which is cleared,
// written and added to C.
func collapseModel(s gemm.Shape, p gemm.Params) gemm.Model {
	model := programModel("serial/ikj")(s, nil)
	copies := float64(p.Int("threads")) * float64(s.M) * float64(s.N)
	model.Flops, model.Accesses, model.Workspace = model.Flops+copies, model.Accesses+3*copies, model.Workspace+copies
	traffic := model.Traffic
	model.Traffic = func(cache, line float64) float64 { return 2*copies + traffic(cache, line) }
	return model
}

// openMPCollapseVariant returns the OpenMP program of the 2024 report.
func openMPCollapseVariant() gemm.Variant {
	const most = 1 << 10
	return gemm.Variant{
		Name:   "reference/openmp-collapse",
		Doc:    "C with OpenMP: the loops i and k collapsed, a private C per thread, merged by atomic additions",
		Parent: "parallel/collapse-atomic",
		Role:   gemm.Program,
		Can:    gemm.Explains | ownCan,
		Params: []gemm.Param{
			{Name: "threads", Default: processors, Min: 1, Max: most, Doc: "threads of OpenMP"},
			{Name: "schedule", Default: "static", Choices: ompSchedules,
				Doc: "schedule of OpenMP; default: of schedule(runtime) if none is set; none: without the clause"},
			{Name: "chunk", Default: 0, Doc: "chunk size; 0: the schedule's own"},
		},
		Model: collapseModel,
		Bound: gemm.Classical,
		F32:   newOpenMPCollapse[float32],
		F64:   newOpenMPCollapse[float64],
	}
}

func programVariants() []gemm.Variant {
	return []gemm.Variant{
		loopVariant("c-naive", "the definition in C: three loops ijk, every sum in C itself", "serial/naive",
			"serial/naive"),
		loopVariant("c-local", "c-naive with a local sum", "serial/naive", "reference/c-naive"),
		loopVariant("c-restrict", "c-naive with restrict pointers", "serial/naive", "reference/c-naive"),
		loopVariant("c-ikj", "c-restrict with the loops in the order ikj", "serial/ikj", "serial/ikj"),
		openMPCollapseVariant(),
	}
}
