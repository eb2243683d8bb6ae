package compare

import (
	"context"
	"errors"
	"runtime"
	"time"

	"gemm"
	"gemm/compare/batch"
	"gemm/compare/chain"
	"gemm/compare/optional"
	"gemm/compare/verify"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/sample"
)

// multiplication is the product of a case on operands of this process, of any element type.
type multiplication interface {
	// drawIntegers draws the operands of the exact check, unless there are some that fit.
	drawIntegers()
	// multiplyIntegers multiplies integers with the same shape and parameters as the timed product,
	// and checks that the result is exact. An error that would be lost among the rounding errors,
	// such as one missing term of a sum, shows here.
	multiplyIntegers(ctx context.Context) (verify.Verdict, error)
	// multiply computes the product that many times.
	multiply(ctx context.Context, times int) error
	// stage places the operands where the product is computed.
	stage(ctx context.Context) (gemm.Run, error)
	// poison fills C with elements that no product has.
	poison()
	// check verifies C.
	check() verify.Verdict
}

// calling computes the product of operands that many times; staging stages it.
type (
	calling[T gemm.Element] func(ctx context.Context, o verify.Operands[T], times int) error
	staging[T gemm.Element] func(ctx context.Context, o verify.Operands[T]) (gemm.Run, error)
)

// multiplicationOf is the product on operands of one type.
type multiplicationOf[T gemm.Element] struct {
	c         Case
	seed      uint64
	setting   *setting[T]
	drawn     operands[T]
	limit     verify.Limit
	magnitude int // of the integers of the exact check; 0: none are exact
	call      calling[T]
	place     staging[T] // nil: the product is called
}

func (r *multiplicationOf[T]) drawIntegers() { r.setting.drawIntegers(r.c, r.seed, r.magnitude) }

func (r *multiplicationOf[T]) multiplyIntegers(ctx context.Context) (verdict verify.Verdict, err error) {
	r.drawIntegers()
	o := r.setting.integers
	o.Poison()
	o.Restore()
	if r.place != nil {
		err = computeOnce(ctx, func(ctx context.Context) (gemm.Run, error) { return r.place(ctx, o.Operands) })
	} else {
		err = r.call(ctx, o.Operands, 1)
	}
	if err != nil {
		return verify.Verdict{}, err
	}
	onAllProcessors(func() { verdict = o.verifier.Check(o.C, verify.Limit{Kind: gemm.Componentwise}) })
	return verdict, nil
}

// computeOnce computes one staged product.
func computeOnce(ctx context.Context, stage func(context.Context) (gemm.Run, error)) error {
	staged, err := stage(ctx)
	if err != nil {
		return err
	}
	if _, err = staged.Do(ctx); err == nil {
		err = staged.Collect(ctx)
	}
	return errors.Join(err, staged.Close())
}

func (r *multiplicationOf[T]) multiply(ctx context.Context, times int) error {
	return r.call(ctx, r.drawn.Operands, times)
}

func (r *multiplicationOf[T]) stage(ctx context.Context) (gemm.Run, error) {
	return r.place(ctx, r.drawn.Operands)
}

func (r *multiplicationOf[T]) poison() { r.drawn.Poison() }

func (r *multiplicationOf[T]) check() (verdict verify.Verdict) {
	onAllProcessors(func() { verdict = r.drawn.verifier.Check(r.drawn.C, r.limit) })
	return verdict
}

// batching is the batch of a case, on operands of one type.
type batching[T gemm.Element] struct {
	c         Case
	seed      uint64
	of        verify.Batch[T]
	limit     verify.Limit
	magnitude int // of the integers of the exact check; 0: none are exact
	call      func(ctx context.Context, of verify.Batch[T]) error
	place     func(ctx context.Context, of verify.Batch[T]) (gemm.Run, error) // nil: the batch is called
}

// errNoBatch: the variant computes no batches.
var errNoBatch = errors.New("computes one product at a time where its operands lie: choose a variant with batches, " +
	"such as cuda/warptile or cuda/cublas in f32 or f64")

// newBatching returns the batch of the case by m, and how it is computed.
func newBatching[T gemm.Element](d *Driver, c Case, m gemm.Multiplier[T], s *setting[T]) (r *batching[T], how string,
	err error) {
	r = &batching[T]{c: c, seed: d.Seed, place: batch.Stager(m)}
	if r.place == nil {
		if c.Variant.Location != gemm.InProcess {
			return nil, "", gemm.Unavailablef("%s %w", c.Variant.Name, errNoBatch)
		}
		if r.call, how = batch.Caller(m, c.Plain()); r.call == nil {
			return nil, "", gemm.Unavailablef("%s %w", c.Variant.Name, errNoGemmer)
		}
	}
	r.of = s.drawBatch(d, c)
	r.limit = verify.Telling[T](verify.LimitOf[T](c.Variant, c.Shape, c.resolved, c.Alpha, c.Beta, true))
	r.magnitude = verify.ExactIntegers[T](c.Variant, c.Shape, c.resolved, c.Alpha, c.Beta)
	return r, how, nil
}

func (r *batching[T]) drawIntegers() {} // multiplyIntegers draws them

func (r *batching[T]) multiplyIntegers(ctx context.Context) (verdict verify.Verdict, err error) {
	var of verify.Batch[T]
	onAllProcessors(func() { of = verify.DrawIntegerBatch[T](r.c.layout(), r.c.Batch, r.seed, r.magnitude) })
	of.Poison()
	of.Restore()
	if r.place != nil {
		err = computeOnce(ctx, func(ctx context.Context) (gemm.Run, error) { return r.place(ctx, of) })
	} else {
		err = r.call(ctx, of)
	}
	if err != nil {
		return verify.Verdict{}, err
	}
	onAllProcessors(func() { verdict = of.Check(verify.Limit{Kind: gemm.Componentwise}) })
	return verdict, nil
}

func (r *batching[T]) multiply(ctx context.Context, times int) error {
	for range times {
		if err := r.call(ctx, r.of); err != nil {
			return err
		}
	}
	return nil
}

func (r *batching[T]) stage(ctx context.Context) (gemm.Run, error) { return r.place(ctx, r.of) }

func (r *batching[T]) poison() { r.of.Poison() }

func (r *batching[T]) check() (verdict verify.Verdict) {
	onAllProcessors(func() { verdict = r.of.Check(r.limit) })
	return verdict
}

// iteration is the iterated product of a case, on operands of one type.
type iteration[T gemm.Element] struct {
	c         Case
	seed      uint64
	m         gemm.Multiplier[T]
	remote    optional.Chainer[T] // nil: the chain is computed in this process
	of        chained[T]
	limit     verify.Limit
	magnitude int // of the integers of the exact check; 0: none are exact
}

// chained is an iterated product and what verifies it.
type chained[T gemm.Element] struct {
	*chain.Chain[T]
	verifier verify.ChainVerifier[T]
}

// newIteration returns the iterated product of the case by m.
func newIteration[T gemm.Element](d *Driver, c Case, m gemm.Multiplier[T], s *setting[T]) *iteration[T] {
	r := &iteration[T]{c: c, seed: d.Seed, m: m, of: s.drawChain(d, c)}
	r.remote, _ = m.(optional.Chainer[T])
	r.limit = r.of.verifier.Limit(verify.LimitOf[T](c.Variant, c.Shape, c.resolved, 1, 0, true))
	r.magnitude = verify.ExactChain[T](c.Variant, c.Shape, c.resolved, c.chain())
	return r
}

func (r *iteration[T]) drawIntegers() {} // multiplyIntegers draws them: no other case has the same

func (r *iteration[T]) multiplyIntegers(ctx context.Context) (verdict verify.Verdict, err error) {
	of, product := verify.IntegerChain[T](r.c.N, r.c.LDA, r.c.chain(), r.seed, r.magnitude)
	o := &iteration[T]{c: r.c, m: r.m, remote: r.remote, of: chained[T]{Chain: chain.New(of)}}
	o.poison()
	if r.remote != nil {
		err = computeOnce(ctx, o.stage)
	} else {
		o.of.Restore()
		err = o.multiply(ctx, 1)
	}
	if err != nil {
		return verify.Verdict{}, err
	}
	onAllProcessors(func() {
		verdict = verify.New(product, r.seed).Check(o.of.Result, verify.Limit{Kind: gemm.Componentwise})
	})
	return verdict, nil
}

func (r *iteration[T]) multiply(ctx context.Context, times int) error {
	for range times {
		if err := r.of.Multiply(ctx, r.m, r.c.each()); err != nil {
			return err
		}
	}
	return nil
}

func (r *iteration[T]) stage(ctx context.Context) (gemm.Run, error) {
	return r.remote.StageChain(ctx, r.of.N, r.of.Result, r.of.A, r.of.S, r.of.B)
}

func (r *iteration[T]) poison() { verify.Poison(r.of.Result) }

func (r *iteration[T]) check() (verdict verify.Verdict) {
	onAllProcessors(func() { verdict = r.of.verifier.Check(r.of.Result, r.limit) })
	return verdict
}

// errNoGemmer: the case asks for more than C = A·B of a variant that has no more.
var errNoGemmer = errors.New("computes C = A·B only, without transposes, α and β: " +
	"choose a production variant such as serial/packed, and another type than gf256")

// stager returns how m stages the operation of the case; nil: it does not.
func stager[T gemm.Element](m gemm.Multiplier[T], c Case) staging[T] {
	if c.Plain() {
		if s, ok := m.(gemm.Stager[T]); ok {
			return func(ctx context.Context, o verify.Operands[T]) (gemm.Run, error) {
				return s.Stage(ctx, o.C, o.A, o.B)
			}
		}
		return nil
	}
	g, ok := gemm.As[gemm.GemmStager[T]](m)
	if !ok {
		return nil
	}
	tA, tB := c.Transposes()
	return func(ctx context.Context, o verify.Operands[T]) (gemm.Run, error) {
		o.Restore()
		return g.StageGemm(ctx, tA, tB, gemm.FromFloat64[T](c.Alpha), o.A, o.B, gemm.FromFloat64[T](c.Beta), o.C)
	}
}

// caller returns how m computes the case, or why it cannot.
func caller[T gemm.Element](m gemm.Multiplier[T], c Case) (calling[T], error) {
	if c.Plain() {
		return func(ctx context.Context, o verify.Operands[T], times int) error {
			for range times {
				if err := m.Multiply(ctx, o.C, o.A, o.B); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
	g, ok := gemm.As[gemm.Gemmer[T]](m)
	if !ok {
		return nil, gemm.Unavailablef("%s %w", c.Variant.Name, errNoGemmer)
	}
	tA, tB := c.Transposes()
	alpha, beta := gemm.FromFloat64[T](c.Alpha), gemm.FromFloat64[T](c.Beta)
	return func(ctx context.Context, o verify.Operands[T], times int) error {
		for range times {
			if err := g.Gemm(ctx, tA, tB, alpha, o.A, o.B, beta, o.C); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// callOverhead returns the time of a product of 1×1 matrices, the median of some batches; 0 if it fails.
func callOverhead[T gemm.Element](ctx context.Context, m gemm.Multiplier[T]) time.Duration {
	a, b, c := gemm.NewMatrix[T](1, 1), gemm.NewMatrix[T](1, 1), gemm.NewMatrix[T](1, 1)
	s := sample.Sampler{Inner: 100, Call: func(ctx context.Context, times int) (time.Duration, error) {
		start := time.Now()
		for range times {
			if err := m.Multiply(ctx, c, a, b); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}}
	if s.Burst(ctx, sample.Budget{Reps: 10}) != nil {
		return 0
	}
	return time.Duration(sample.Summarize(s.Seconds).Median * float64(time.Second))
}

// operands are the matrices of a product and what verifies it.
type operands[T gemm.Element] struct {
	verify.Operands[T]
	verifier verify.Verifier[T]
}

// setting holds the operands that consecutive cases of one problem share.
type setting[T gemm.Element] struct {
	problem   Problem
	workers   int // workers that touched the operands at the same time; 1 if none did
	drawn     operands[T]
	magnitude int         // of the integers; 0: there are none yet
	integers  operands[T] // of the exact check
	chain     chained[T]  // the last iterated product
	batch     verify.Batch[T]
}

// settings holds the setting of the last case, under its element type. The others are empty.
type settings struct {
	f64   setting[float64]
	f32   setting[float32]
	f16   setting[half.F16]
	bf16  setting[half.BF16]
	gf256 setting[gf256.Elem]
}

// draw returns the operands of the case: the setting's, if they are of the same problem and
// were touched by at least as many workers. Otherwise it draws new ones, which touch puts into memory.
func (s *setting[T]) draw(d *Driver, c Case, workers int, touch func(c, a, b gemm.Matrix[T])) operands[T] {
	if s.problem == c.Problem && s.workers >= workers {
		return s.drawn
	}
	s.keepChain(d, c)
	o := operands[T]{Operands: verify.Draw(c.layout(), d.Seed, touch)}
	onAllProcessors(func() { o.verifier = verify.New(o.Operation, d.Seed) })
	*s = setting[T]{problem: c.Problem, workers: workers, drawn: o, chain: s.chain}
	runtime.GC()
	return o
}

// keepChain frees the last operands, maybe of another type, but not the iterated product of the problem.
func (s *setting[T]) keepChain(d *Driver, c Case) {
	var kept chained[T]
	if s.problem == c.Problem {
		kept = s.chain
	}
	d.settings = settings{}
	*s = setting[T]{problem: c.Problem, chain: kept}
}

// drawChain returns the iterated product of the case: the setting's if it is the same, otherwise a new one.
func (s *setting[T]) drawChain(d *Driver, c Case) chained[T] {
	if s.problem != c.Problem {
		s.keepChain(d, c)
	}
	if was := s.chain.Chain; was == nil || was.N != c.chain() {
		s.chain = chained[T]{}
		of := verify.DrawChain[T](c.N, c.LDA, c.chain(), d.Seed)
		s.chain.Chain = chain.New(of)
		onAllProcessors(func() { s.chain.verifier = verify.NewChain(of, d.Seed) })
		runtime.GC()
	}
	return s.chain
}

// drawBatch returns the batch of the case: the setting's if it is of the same problem, otherwise a new one.
func (s *setting[T]) drawBatch(d *Driver, c Case) verify.Batch[T] {
	if s.problem != c.Problem || s.batch.C.Count == 0 {
		d.settings = settings{}
		onAllProcessors(func() {
			*s = setting[T]{problem: c.Problem, batch: verify.DrawBatch[T](c.layout(), c.Batch, d.Seed)}
		})
		runtime.GC()
	}
	return s.batch
}

// drawIntegers draws integers up to q for the exact check of the case. The cases of a turn share
// the integers of the least magnitude; otherwise each would draw its own.
func (s *setting[T]) drawIntegers(c Case, seed uint64, q int) {
	if was := s.magnitude; was == q || c.Turn != "" && 0 < was && was < q {
		return
	}
	s.integers = operands[T]{} // frees them before it draws new ones
	onAllProcessors(func() {
		o := verify.DrawIntegers[T](c.layout(), seed, q)
		s.magnitude, s.integers = q, operands[T]{o, verify.New(o.Operation, seed)}
	})
}
