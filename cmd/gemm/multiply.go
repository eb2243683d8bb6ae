package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/cmd/gemm/cmdline"
	"gemm/compare/plan"
	"gemm/compare/verify"
	"gemm/cuda"
	"gemm/cuda/remote"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/cpu"
	"gemm/internal/matfile"
)

func multiplyCommand() *cli.Command {
	return &cli.Command{
		Name:      "multiply",
		Usage:     "multiply the matrices in two files",
		UsageText: "--a FILE --b FILE --out FILE [options]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "a", Usage: "`FILE`: file of A"},
			&cli.StringFlag{Name: "b", Usage: "`FILE`: file of B"},
			&cli.StringFlag{Name: "c", Usage: "`FILE`: file of the C that beta multiplies"},
			&cli.StringFlag{Name: "out", Usage: "`FILE`: file for the result; it may be one of the others"},
			variantFlag(""),
			cmdline.ChoiceFlag("type", "", "as in the files; f32 for f32, f16 and bf16 together; otherwise f64",
				"`TYPE`: element type of the computation: "+strings.Join(gemm.TypeNames(), ", "), gemm.TypeNames()),
			cmdline.FactorFlag("alpha", 1, "", "A*B"), cmdline.FactorFlag("beta", 0, "1 with --c, 0 without", "C"),
			cmdline.ListFlag(accuracyName, "", "", "`BOUND`: largest error that the variant must promise, such as 1e-6"+
				"; without --type and --variant, they are the fastest that do", cmdline.Accuracy),
			noTunedFlag(),
		},
		Action: runMultiply,
	}
}

type product struct {
	a, b, c     *matfile.File // c is nil if β is 0
	out         string
	variant     string      // empty: the fastest
	typ         string      // element type
	params      gemm.Params // of the variant
	alpha, beta float64
	logf        func(format string, args ...any)
}

// runMultiply goes from the flags to the file of the result: parse, choose, load, compute, check, write.
func runMultiply(c *cli.Context) error {
	applyTuned(c)
	p, err := parseProduct(c)
	defer p.close()
	if err == nil && c.IsSet(accuracyName) {
		err = p.promise(c)
	}
	if err == nil {
		err = gemm.ByType(p.typ, multiply[float64], multiply[float32], multiply[half.F16], multiply[half.BF16],
			multiply[gf256.Elem])(c.Context, p)
	}
	if err != nil && c.Context.Err() != nil {
		return fmt.Errorf("%w; nothing was written", errInterrupted)
	}
	return err
}

// parseProduct returns the product of the flags, with open files.
func parseProduct(c *cli.Context) (p product, err error) {
	p = product{out: c.String("out"), variant: c.String("variant"), alpha: cmdline.FactorOf(c, "alpha"),
		beta: cmdline.FactorOf(c, "beta"), logf: func(format string, args ...any) { logf(c, format, args...) }}
	if err := checkMultiply(c, p.beta); err != nil {
		return p, err
	}
	if c.IsSet("c") && !c.IsSet("beta") {
		p.beta = 1
	}
	for i, file := range []**matfile.File{&p.a, &p.b, &p.c} {
		if name := c.String("abc"[i : i+1]); name != "" {
			if *file, err = matfile.Open(c.Context, name); err != nil {
				return p, err
			}
		}
	}
	switch {
	case p.a.Cols != p.b.Rows:
		return p, fmt.Errorf("%w: A is %d×%d and B is %d×%d, A must have as many columns as B has rows", gemm.ErrShape,
			p.a.Rows, p.a.Cols, p.b.Rows, p.b.Cols)
	case p.c != nil && (p.c.Rows != p.a.Rows || p.c.Cols != p.b.Cols):
		return p, fmt.Errorf("%w: A*B is %d×%d and C is %d×%d", gemm.ErrShape, p.a.Rows, p.b.Cols, p.c.Rows, p.c.Cols)
	}
	p.typ = cmp.Or(c.String("type"), p.widest())
	if err := checkFactors(c, p.typ); err != nil {
		return p, err
	}
	bytes := func(f *matfile.File) bool { return f.Type == "gf256" }
	if p.typ != "gf256" && slices.ContainsFunc(p.files(), bytes) {
		return p, errors.New("an operand holds bytes (uint8): save it as float64, or compute in the field of bytes with " +
			"--type gf256")
	}
	return p, matfile.Writable(p.out)
}

// checkMultiply returns an error unless the flags go together.
func checkMultiply(c *cli.Context, beta float64) error {
	if err := requireFlags(c, "a", "b", "out"); err != nil {
		return err
	}
	for _, name := range []string{"a", "b", "out", "c"} {
		if c.String(name) == "" {
			continue
		}
		if err := matfile.CheckName(c.String(name)); err != nil {
			return usagef("--%s %v", name, err)
		}
	}
	switch typ := c.String("type"); {
	case typ != "" && !slices.Contains(gemm.TypeNames(), typ):
		return usagef("--type %q: must be one of %s", typ, strings.Join(gemm.TypeNames(), ", "))
	case typ == "gf256" && (c.IsSet("alpha") || c.IsSet("beta") || c.IsSet("c") || c.IsSet(accuracyName)):
		return usagef("--alpha, --beta, --c and --accuracy are for numbers; gf256 has C = A*B only, and exactly")
	case c.IsSet("beta") && beta != 0 && !c.IsSet("c"):
		return usagef("--beta %v needs the C that it multiplies: add --c FILE", beta)
	}
	return checkFactors(c)
}

func (p product) files() []*matfile.File {
	return slices.DeleteFunc([]*matfile.File{p.a, p.b, p.c}, func(f *matfile.File) bool { return f == nil })
}

func (p product) close() {
	for _, f := range p.files() {
		_ = f.Close() // it was only read
	}
}

// widest returns the narrowest type that has all elements of the files.
func (p product) widest() string {
	typ := p.a.Type
	for _, f := range p.files() {
		switch {
		case f.Type == typ:
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

func multiply[T gemm.Element](ctx context.Context, p product) error {
	by, err := choose[T](ctx, p)
	if err != nil {
		return err
	}
	defer by.close()
	op, c, err := load[T](p, by)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := compute(ctx, by.multiplier, op, c); err != nil {
		return err
	}
	shape := gemm.Shape{M: c.Rows, N: c.Cols, K: op.A.Cols}
	what := fmt.Sprintf("%s computed %s in %s, %v", by.variant.Name, shape, p.typ,
		time.Since(start).Round(time.Microsecond))
	limit := verify.LimitOf[T](by.variant, shape, by.resolved, p.alpha, p.beta, false)
	switch result, wrong := verified(ctx, op, c, limit); {
	case ctx.Err() != nil:
		return ctx.Err()
	case wrong != "":
		return fmt.Errorf("%s; the result is wrong and was not written: %s", what, wrong)
	default:
		p.logf("%s; %s", what, result)
	}
	return matfile.Write(ctx, p.out, c)
}

// chosen is a variant, made with parameters.
type chosen[T gemm.Element] struct {
	variant          gemm.Variant
	params, resolved gemm.Params // as requested; and all
	multiplier       gemm.Multiplier[T]
	took             time.Duration // least time of a product of size trial, if it was tried
}

// everyProcessor returns the parameters with which v uses all processors.
func everyProcessor(v gemm.Variant) gemm.Params {
	if v.Has("threads") {
		return gemm.Params{"threads": cpu.Workers()}
	}
	return gemm.Params{}
}

// makeVariant makes a variant with the parameters, and that uses all processors.
func makeVariant[T gemm.Element](v gemm.Variant, p gemm.Params) (by chosen[T], err error) {
	by = chosen[T]{variant: v, params: everyProcessor(v)}
	maps.Copy(by.params, p)
	if by.multiplier, err = gemm.New[T](v, by.params); err == nil {
		by.resolved, err = v.Resolve(by.params)
	}
	return by, err
}

// close ends the process of the multiplier, if it has one.
func (by chosen[T]) close() {
	if process, ok := by.multiplier.(io.Closer); ok {
		_ = process.Close() // its product is there, or why not
	}
}

// choose returns the variant that p names, or the fastest.
func choose[T gemm.Element](ctx context.Context, p product) (by chosen[T], err error) {
	if p.variant == "" {
		return fastest[T](ctx)
	}
	// Variants of a GPU are computed by the worker.
	variants := slices.DeleteFunc(catalog.Variants(), func(v gemm.Variant) bool { return v.Location == gemm.OnGPU })
	v, err := named(p.variant, slices.Concat(variants, cuda.Variants(remote.Backend{Worker: workerOf(ctx)})))
	if err != nil {
		return by, fmt.Errorf("--variant: %w", err)
	}
	if v.Location == gemm.OnGPU && slices.Contains(v.Types(), gemm.TypeOf[T]().Name) {
		workerOf(ctx).Prepare() // meanwhile
		if err := onGPU(ctx, v, gemm.TypeOf[T]().Name); err != nil {
			return by, err
		}
	}
	if by, err = makeVariant[T](v, p.params); err == nil && (p.alpha != 1 || p.beta != 0) && !production[T](v) {
		by.close()
		err = usagef("--variant %s computes C = A*B only, without --alpha, --beta and --c: choose a production "+
			"variant such as serial/packed", v.Name)
	}
	return by, err
}

// trial is the size of the products by which variants in this process are compared.
const trial = 192

// tried returns the production variants that run here. In the field, where none is a Gemmer, it tries every variant.
func tried[T gemm.Element](ctx context.Context) (out []chosen[T]) {
	const calls = 3
	a, b, c := gemm.NewMatrix[T](trial, trial), gemm.NewMatrix[T](trial, trial), gemm.NewMatrix[T](trial, trial)
	for _, v := range catalog.Variants() {
		if v.Location == gemm.OnRanks || gemm.TypeOf[T]().Name != "gf256" && !production[T](v) {
			continue // for several processes, and this is one; or not made for speed
		}
		by, err := makeVariant[T](v, nil)
		by.took = math.MaxInt64
		for range calls { // the first warms up
			if start := time.Now(); err == nil {
				err = by.multiplier.Multiply(ctx, c, a, b)
				by.took = min(by.took, time.Since(start))
			}
		}
		if err == nil { // it is here
			out = append(out, by)
		}
	}
	return out
}

// fastest returns the variant that was the fastest of those tried.
func fastest[T gemm.Element](ctx context.Context) (chosen[T], error) {
	all := tried[T](ctx)
	if len(all) == 0 {
		return chosen[T]{}, cmp.Or(ctx.Err(), error(gemm.Unavailablef("no variant for %s can run here; see gemm list",
			gemm.TypeOf[T]().Name)))
	}
	return slices.MinFunc(all, func(x, y chosen[T]) int { return cmp.Compare(x.took, y.took) }), ctx.Err()
}

// promise sets the type, the variant and its parameters to what is predicted to be the fastest of what promises
// --accuracy for the operands, and says so.
func (p *product) promise(c *cli.Context) error {
	accuracies, types := cmdline.Listed[float64](c, accuracyName), []string{p.typ}
	if len(accuracies) != 1 {
		return usagef("--accuracy: a product has one accuracy, such as 1e-6")
	}
	if !c.IsSet("type") {
		types = accurateTypes
	}
	var extents []extent
	for _, f := range p.files() {
		m, err := matfile.Read[float64](f)
		if err != nil {
			return err
		}
		extents = append(extents, extentOf(m))
	}
	var offers []gemm.Offer
	for _, typ := range types {
		found, err := gemm.ByType(typ, offersIn[float64], offersIn[float32], offersIn[half.F16], offersIn[half.BF16],
			nil)(c.Context, *p, extents)
		if err != nil {
			return err
		}
		offers = append(offers, found...)
	}
	i, err := gemm.Fastest(offers, accuracies[0])
	if err != nil {
		return err
	}
	o := offers[i]
	p.variant, p.typ, p.params = o.Variant, o.Type.Name, o.Params
	p.logf("accuracy %g: %s in %s has the bound %.2g (%s)", accuracies[0], o, p.typ, o.Bound, o.Kind)
	return nil
}

// accurateTypes are the types among which a request for accuracy chooses.
var accurateTypes = []string{"f64", "f32", "f16", "bf16"}

// extent has the least magnitude of numbers but 0, and the largest.
type extent struct{ least, most float64 }

func extentOf(m gemm.Matrix[float64]) extent {
	e := extent{least: math.Inf(1)}
	for _, x := range m.Data {
		if x = math.Abs(x); x != 0 {
			e.least, e.most = min(e.least, x), max(e.most, x) // both are NaN if x is
		}
	}
	return e
}

// fits reports whether the operands and each sum of the product are in the range of T, with all digits.
func fits[T gemm.Number](p product, extents []extent) bool {
	a, b, alpha, beta := extents[0], extents[1], math.Abs(p.alpha), math.Abs(p.beta)
	sum := extent{min(1, alpha) * a.least * b.least, max(1, alpha) * a.most * b.most * float64(p.a.Cols)}
	if beta != 0 {
		sum = extent{min(sum.least, beta*extents[2].least), sum.most + beta*extents[2].most}
	}
	return as[T](p.alpha) == p.alpha && as[T](p.beta) == p.beta && !slices.ContainsFunc(append(extents, sum),
		func(e extent) bool { return !verify.Normal[T](e.least, e.most) })
}

// offersIn returns the offers in T for operands of the extents, with predicted seconds.
func offersIn[T gemm.Number](ctx context.Context, p product, extents []extent) (out []gemm.Offer, err error) {
	t, own := gemm.TypeOf[T](), gemm.TypeNamed(p.widest())
	if !t.Holds(own) && !fits[T](p, extents) {
		return nil, nil
	}
	shape, plain := gemm.Shape{M: p.a.Rows, N: p.b.Cols, K: p.a.Cols}, p.alpha == 1 && p.beta == 0
	add := func(seconds float64, v gemm.Variant, params gemm.Params) error {
		offers, err := gemm.Offers(v, t, own, shape, params, plain)
		for _, o := range offers {
			o.Time *= seconds
			out = append(out, o)
		}
		return err
	}
	if p.variant == "" {
		for _, by := range tried[T](ctx) {
			err = cmp.Or(err, add(by.took.Seconds()*shape.Terms()/(trial*trial*trial), by.variant, by.params))
		}
		onGPU, failed := offersOnGPU(ctx, t, own, shape, plain)
		out, err = append(out, onGPU...), cmp.Or(err, failed)
	} else if v, unknown := named(p.variant, catalog.Variants()); unknown != nil {
		return nil, fmt.Errorf("--variant: %w", unknown)
	} else if slices.Contains(v.Types(), t.Name) {
		err = add(1, v, everyProcessor(v))
	}
	share := min(extents[0].least/extents[0].most, extents[1].least/extents[1].most)
	return slices.DeleteFunc(out, func(o gemm.Offer) bool { return o.LeastShare > 0 && !(share >= o.LeastShare) }), err
}

// offersOnGPU returns the offers of the first GPU; none if there is no GPU.
func offersOnGPU(ctx context.Context, t, own gemm.Type, s gemm.Shape, plain bool) ([]gemm.Offer, error) {
	const start, bandwidth = 0.4, 2e9 // seconds until the worker multiplies, and bytes a second to it and back
	found, err := system(ctx)
	if errors.Is(err, errInterrupted) {
		return nil, err
	}
	if err != nil || found.NVRTC == "" {
		return nil, nil
	}
	offers, err := cuda.Offers(found.GPUs[0], t, own, s, plain)
	for i := range offers {
		offers[i].Time += start + s.Elements()*float64(t.Size)/bandwidth
	}
	return offers, err
}

// production reports whether v computes the full BLAS operation, as the variants made for speed do. In the field there
// is none.
func production[T gemm.Element](v gemm.Variant) bool {
	return v.Can.Has(gemm.Gemms) && gemm.TypeOf[T]().Name != "gf256"
}

// load reads the operands. C has C₀ if β is not 0. It is an error if memory lacks for the product, or for the copy of
// the GPU program.
func load[T gemm.Element](p product, by chosen[T]) (op verify.Operation[T], c gemm.Matrix[T], err error) {
	op = verify.Operation[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: p.alpha, Beta: p.beta}
	what, room := "the product", plan.Request{
		Variant: by.variant, Type: p.typ, Shape: gemm.Shape{M: p.a.Rows, N: p.b.Cols, K: p.a.Cols},
		Op: "nn", Alpha: p.alpha, Beta: p.beta, Params: by.params,
	}.Case().ProductBytes()
	if by.variant.Location == gemm.OnGPU {
		what, room = what+" and its copy for "+cuda.Worker, 2*room
	}
	if err := checkMemory(what, room, "multiply on a host with more"); err != nil {
		return op, c, err
	}
	if op.A, err = matfile.Read[T](p.a); err != nil {
		return op, c, err
	}
	if op.B, err = matfile.Read[T](p.b); err != nil {
		return op, c, err
	}
	c = gemm.NewMatrix[T](p.a.Rows, p.b.Cols)
	if p.beta != 0 {
		op.C0, err = matfile.Read[T](p.c)
		copy(c.Data, op.C0.Data)
	}
	return op, c, err
}

// compute computes op into c, which has C₀ if β is not 0.
func compute[T gemm.Element](ctx context.Context, m gemm.Multiplier[T], op verify.Operation[T],
	c gemm.Matrix[T]) error {
	if op.Alpha == 1 && op.Beta == 0 {
		return m.Multiply(ctx, c, op.A, op.B)
	}
	g, _ := gemm.As[gemm.Gemmer[T]](m) // choose refuses others
	return g.Gemm(ctx, op.TransA, op.TransB, gemm.FromFloat64[T](op.Alpha), op.A, op.B, gemm.FromFloat64[T](op.Beta), c)
}

// verified is verdictOf, but returns at once if the context ends: the command ends, and with it the check.
func verified[T gemm.Element](ctx context.Context, op verify.Operation[T], c gemm.Matrix[T],
	limit verify.Limit) (result, wrong string) {
	verdict := make(chan [2]string, 1)
	go func() {
		result, wrong := verdictOf(op, c, limit)
		verdict <- [2]string{result, wrong}
	}()
	select {
	case <-ctx.Done():
		return "", ""
	case v := <-verdict:
		return v[0], v[1]
	}
}

// verdictOf returns what a check of c says: whether the result is verified, and otherwise why not, or why it is wrong.
// A bound that an element may be lost below decides nothing: then the check that knows no algorithm does.
func verdictOf[T gemm.Element](op verify.Operation[T], c gemm.Matrix[T], limit verify.Limit) (result, wrong string) {
	verifier := verify.New(op, 1)
	if !verifier.Finite() {
		return "not verified: NaN or Inf is among the operands", ""
	}
	verdict, own := verifier.Check(c, limit), ""
	if wide := verify.Useful[T](limit) != limit; verdict.OK() && (verdict.Vacuous || verdict.Weak || wide) {
		independent := verifier.Check(c, verify.Independent[T]())
		if independent.OK() && !independent.Vacuous || !independent.OK() && limit.Kind == gemm.Normwise {
			verdict = independent
			own = fmt.Sprintf("; the only proven bound, %.2g (%s), would prove nothing", limit.Bound, limit.Kind)
		} else { // no such check, or sums with too many terms to be more accurate
			verdict.Vacuous = verdict.Vacuous || wide || !independent.OK()
		}
	}
	switch {
	case !verdict.OK():
		return "", verdict.Reason + own
	case verdict.Vacuous:
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
