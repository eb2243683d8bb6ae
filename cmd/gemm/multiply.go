package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/plan"
	"gemm/compare/verify"
	"gemm/cuda"
	"gemm/cuda/remote"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/matfile"
)

func multiplyCommand() *cli.Command {
	return &cli.Command{
		Name:      "multiply",
		Usage:     "multiply the matrices in two files",
		UsageText: "--a FILE --b FILE --out FILE [options]",
		Description: "Computes C = alpha*A*B + beta*C. The ending of a file's name says its format: .npy is\n" +
			"NumPy's (float16, bfloat16 of ml_dtypes, float32 or float64, C or Fortran order), .mtx\n" +
			"is Matrix Market's, .csv has numbers separated by commas or by blanks. Files must be\n" +
			"regular files, not pipes.\n\n" +
			"The result is verified before it is written. A wrong result is not written, and the\n" +
			"exit status is 1. If a result cannot be verified, it is written with a warning. This\n" +
			"is so if an operand has NaN or Inf, or if the error bound exceeds the result.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "a", Usage: "`FILE`: file of A"},
			&cli.StringFlag{Name: "b", Usage: "`FILE`: file of B"},
			&cli.StringFlag{Name: "c", Usage: "`FILE`: file of the C that beta multiplies"},
			&cli.StringFlag{Name: "out", Usage: "`FILE`: file for the result; it may be one of the others"},
			variantFlag(""),
			choiceFlag("type", "", "that of the files; of f32, f16 and bf16 together, f32; otherwise f64",
				"`TYPE`: element type of the computation: "+strings.Join(gemm.TypeNames(), ", "), gemm.TypeNames()),
			factorFlag("alpha", 1, "", "A*B"), factorFlag("beta", 0, "1 with --c, 0 without", "C"),
			noTunedFlag(),
		},
		Action: runMultiply,
	}
}

// product is what multiply is asked to compute.
type product struct {
	a, b, c     *matfile.File // c is nil if β is 0
	out         string
	variant     string // empty: the fastest
	alpha, beta float64
	warn        func(format string, args ...any)
}

func runMultiply(c *cli.Context) error {
	useTuned(c)
	p := product{
		out: c.String("out"), variant: c.String("variant"),
		alpha: factorOf(c, "alpha"), beta: factorOf(c, "beta"),
	}
	p.warn = func(format string, args ...any) { say(c, format, args...) }
	if err := checkMultiply(c, p.beta); err != nil {
		return err
	}
	if c.IsSet("c") && !c.IsSet("beta") {
		p.beta = 1
	}
	for _, file := range []struct {
		flag string
		to   **matfile.File
	}{{"a", &p.a}, {"b", &p.b}, {"c", &p.c}} {
		if c.String(file.flag) == "" {
			continue
		}
		f, err := matfile.Open(c.Context, c.String(file.flag))
		if err != nil {
			return unlessInterrupted(c.Context, err)
		}
		defer f.Close()
		*file.to = f
	}
	if err := p.checkShapes(); err != nil {
		return err
	}
	typ := p.elementType(c.String("type"))
	if err := checkFactors(c, typ); err != nil {
		return err
	}
	for _, f := range []*matfile.File{p.a, p.b, p.c} {
		if f != nil && f.Type == "gf256" && typ != "gf256" {
			return errors.New("an operand holds bytes (uint8): save it as float64, or compute in the field of bytes with --type gf256")
		}
	}
	if err := matfile.Writable(p.out); err != nil {
		return err
	}
	return gemm.ByType(typ, multiply[float64], multiply[float32], multiply[half.F16], multiply[half.BF16],
		multiply[gf256.Elem])(c.Context, p)
}

// checkMultiply returns an error unless the flags go together.
func checkMultiply(c *cli.Context, beta float64) error {
	for _, name := range []string{"a", "b", "out", "c"} {
		if c.String(name) == "" {
			if name == "c" {
				continue
			}
			return usagef("--%s is missing; see gemm multiply --help", name)
		}
		if err := matfile.CheckName(c.String(name)); err != nil {
			return usagef("--%s %v", name, err)
		}
	}
	switch typ := c.String("type"); {
	case typ != "" && !slices.Contains(gemm.TypeNames(), typ):
		return usagef("--type %q: must be one of %s", typ, strings.Join(gemm.TypeNames(), ", "))
	case typ == "gf256" && (c.IsSet("alpha") || c.IsSet("beta") || c.IsSet("c")):
		return usagef("--alpha, --beta and --c are for numbers; gf256 has C = A*B only")
	case c.IsSet("beta") && beta != 0 && !c.IsSet("c"):
		return usagef("--beta %v needs the C that it multiplies: add --c FILE", beta)
	}
	return checkFactors(c)
}

// checkShapes returns an error unless the files conform.
func (p product) checkShapes() error {
	if p.a.Cols != p.b.Rows {
		return fmt.Errorf("%w: A is %d×%d and B is %d×%d, A must have as many columns as B has rows",
			gemm.ErrShape, p.a.Rows, p.a.Cols, p.b.Rows, p.b.Cols)
	}
	if p.c != nil && (p.c.Rows != p.a.Rows || p.c.Cols != p.b.Cols) {
		return fmt.Errorf("%w: A*B is %d×%d and C is %d×%d", gemm.ErrShape, p.a.Rows, p.b.Cols, p.c.Rows, p.c.Cols)
	}
	return nil
}

// elementType returns the type to compute in: the narrowest that has all elements of the files.
func (p product) elementType(asked string) string {
	if asked != "" {
		return asked
	}
	typ := p.a.Type
	for _, f := range []*matfile.File{p.b, p.c} {
		switch {
		case f == nil || f.Type == typ:
		case narrow(f.Type) && narrow(typ): // two of f32, f16 and bf16
			typ = "f32"
		default:
			return "f64"
		}
	}
	if narrow(typ) {
		return typ
	}
	return "f64"
}

// narrow reports whether f32 has all numbers of the type.
func narrow(typ string) bool {
	t := gemm.TypeNamed(typ)
	return t == gemm.TypeOf[float32]() || t.IsHalf()
}

// multiply computes and verifies the product in T and writes it.
func multiply[T gemm.Element](ctx context.Context, p product) error {
	v, params, err := choose[T](ctx, p)
	if err != nil {
		return err
	}
	job := plan.Request{
		Variant: v, Type: gemm.TypeOf[T]().Name, Shape: gemm.Shape{M: p.a.Rows, N: p.b.Cols, K: p.a.Cols},
		Op: "nn", Alpha: p.alpha, Beta: p.beta, Params: params,
	}.Case()
	if err := checkRoom(job); err != nil {
		return err
	}
	m, err := gemm.New[T](v, params)
	if err != nil {
		return err
	}
	if process, ok := m.(io.Closer); ok {
		defer process.Close() // its product is there, or why not
	}
	op := verify.Operation[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: p.alpha, Beta: p.beta}
	if op.A, err = matfile.Read[T](p.a); err != nil {
		return unlessInterrupted(ctx, err)
	}
	if op.B, err = matfile.Read[T](p.b); err != nil {
		return unlessInterrupted(ctx, err)
	}
	c := gemm.NewMatrix[T](job.M, job.N)
	if p.beta != 0 {
		if op.C0, err = matfile.Read[T](p.c); err != nil {
			return unlessInterrupted(ctx, err)
		}
		copy(c.Data, op.C0.Data)
	}
	stopped := fmt.Errorf("%w; nothing was written", errInterrupted)
	write := func() error {
		if ctx.Err() != nil { // while the result was checked
			return stopped
		}
		if err := matfile.Write(ctx, p.out, c); err != nil {
			return unlessInterrupted(ctx, err)
		}
		return nil
	}
	start := time.Now()
	if err := apply(ctx, m, op, c); err != nil {
		if ctx.Err() != nil {
			return stopped
		}
		return err
	}
	took := time.Since(start)

	what := fmt.Sprintf("%s computed %s in %s, %v", v.Name, job.Shape, job.Type, took.Round(time.Microsecond))
	limit := verify.LimitOf[T](v, job.Shape, resolved(v, params), p.alpha, p.beta, false)
	result, wrong := "", ""
	verified := make(chan struct{})
	go func() {
		defer close(verified)
		result, wrong = verdictOf(op, c, limit)
	}()
	select {
	case <-ctx.Done(): // the command ends, and with it the check
		return stopped
	case <-verified:
	}
	if wrong != "" {
		return fmt.Errorf("%s; the result is wrong and was not written: %s", what, wrong)
	}
	p.warn("%s; %s", what, result)
	return write()
}

// checkRoom returns an error if memory lacks for the product, and for the copy that the GPU program has.
func checkRoom(job plan.Case) error {
	what, room := "the product", job.ProductBytes()
	if job.Variant.Location == gemm.OnGPU {
		what, room = what+" and its copy for "+cuda.Worker, 2*room
	}
	return checkMemory(what, room, "multiply on a host with more")
}

// verdictOf returns what a check of c says: whether the result is verified, and otherwise why not, or why it is wrong.
// A bound that an element may be lost below decides nothing: then the check that knows no algorithm does.
func verdictOf[T gemm.Element](op verify.Operation[T], c gemm.Matrix[T], limit verify.Limit) (result, wrong string) {
	verifier := verify.New(op, 1)
	if !verifier.Finite() {
		return "not verified: NaN or Inf is among the operands", ""
	}
	verdict, own := verifier.Check(c, limit), ""
	if wide := verify.Telling[T](limit) != limit; verdict.OK() && (verdict.Void || verdict.Weak || wide) {
		independent := verifier.Check(c, verify.Independent[T]())
		if independent.OK() && !independent.Void || !independent.OK() && limit.Kind == gemm.Normwise {
			verdict = independent
			own = fmt.Sprintf("; the only proven bound, %.2g (%s), would prove nothing", limit.Bound, limit.Kind)
		} else { // no such check, or sums of so many terms that they may be as inaccurate
			verdict.Void = verdict.Void || wide || !independent.OK()
		}
	}
	switch {
	case !verdict.OK():
		return "", verdict.Reason + own
	case verdict.Void:
		result = limit.Unproven(gemm.TypeOf[T]().Name, op.A.Cols)
	default:
		result = fmt.Sprintf("verified: residual %.2g <= bound %.2g (%s)%s", verdict.Residual, verdict.Bound,
			verdict.Kind, own)
		if verdict.Weak {
			result += "; one lost element may have passed"
		}
	}
	if verdict.Note != "" {
		result += "; " + verdict.Note
	}
	return result, ""
}

// unlessInterrupted returns err, which reading or writing a file gave, or where ctx has ended an errInterrupted.
func unlessInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w; nothing was written", errInterrupted)
	}
	return err
}

// apply computes op into c, which holds C₀ where β is not 0.
func apply[T gemm.Element](ctx context.Context, m gemm.Multiplier[T], op verify.Operation[T], c gemm.Matrix[T]) error {
	if op.Alpha == 1 && op.Beta == 0 {
		return m.Multiply(ctx, c, op.A, op.B)
	}
	g, ok := gemm.As[gemm.Gemmer[T]](m)
	if !ok {
		return errPlain
	}
	return g.Gemm(ctx, op.TransA, op.TransB, gemm.FromFloat64[T](op.Alpha), op.A, op.B, gemm.FromFloat64[T](op.Beta), c)
}

// errPlain: a variant was asked for α or β that has none.
var errPlain = errors.New("computes C = A*B only, without --alpha, --beta and --c: choose a production variant such as serial/packed")

// choose returns the variant and its parameters: the one asked for, or the fastest.
func choose[T gemm.Element](ctx context.Context, p product) (gemm.Variant, gemm.Params, error) {
	if p.variant == "" {
		return fastest[T](ctx)
	}
	// Variants of a GPU are computed by the worker.
	variants := slices.DeleteFunc(catalog.Variants(), func(v gemm.Variant) bool { return v.Location == gemm.OnGPU })
	v, err := named(p.variant, slices.Concat(variants, cuda.Variants(remote.Backend{Worker: workerOf(ctx)})))
	if err != nil {
		return v, nil, fmt.Errorf("--variant: %w", err)
	}
	if v.Location == gemm.OnGPU && slices.Contains(v.Types(), gemm.TypeOf[T]().Name) {
		workerOf(ctx).Prepare() // meanwhile
		if err := onGPU(ctx, v); err != nil {
			return v, nil, err
		}
	}
	params := threaded(v)
	if _, err := gemm.New[T](v, params); err != nil {
		return v, nil, err
	}
	if (p.alpha != 1 || p.beta != 0) && !production[T](v) {
		return v, nil, usagef("--variant %s %v", v.Name, errPlain)
	}
	return v, params, nil
}

// fastest returns the production variant that multiplies matrices of medium size
// in the least time. In the field, if none is a Gemmer, it tries every variant.
func fastest[T gemm.Element](ctx context.Context) (gemm.Variant, gemm.Params, error) {
	const size, calls = 192, 3
	var best gemm.Variant
	var params gemm.Params
	least := time.Duration(math.MaxInt64)
	a, b, c := gemm.NewMatrix[T](size, size), gemm.NewMatrix[T](size, size), gemm.NewMatrix[T](size, size)
	for _, v := range catalog.Variants() {
		if v.Location == gemm.OnRanks || gemm.TypeOf[T]().Name != "gf256" && !production[T](v) {
			continue // for several processes, and this is one; or not made for speed
		}
		p := threaded(v)
		m, err := gemm.New[T](v, p)
		if err != nil {
			continue // not here
		}
		for range calls { // the first warms up
			start := time.Now()
			if err := m.Multiply(ctx, c, a, b); err != nil {
				break
			}
			if took := time.Since(start); took < least {
				best, params, least = v, p, took
			}
		}
	}
	if best.Name == "" {
		return best, nil, gemm.Unavailablef("no variant for %s can run here; see gemm list", gemm.TypeOf[T]().Name)
	}
	return best, params, ctx.Err()
}

// production reports whether v computes the full BLAS operation, as the variants made
// for speed do. In the field there is none.
func production[T gemm.Element](v gemm.Variant) bool {
	return v.Can.Has(gemm.Gemms) && gemm.TypeOf[T]().Name != "gf256"
}

// threaded returns the parameters that have v use all processors.
func threaded(v gemm.Variant) gemm.Params {
	if v.Has("threads") {
		return gemm.Params{"threads": runtime.GOMAXPROCS(0)}
	}
	return gemm.Params{}
}

// resolved returns all parameters of v, whose constructor has accepted p.
func resolved(v gemm.Variant, p gemm.Params) gemm.Params {
	r, err := v.Resolve(p)
	if err != nil {
		panic(err)
	}
	return r
}
