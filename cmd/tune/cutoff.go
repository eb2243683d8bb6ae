package tune

import (
	"context"
	"fmt"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/plan"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
	"gemm/internal/tuned"
)

// maxSize is the size of the largest products that are measured.
const maxSize = 1 << 13

// largeSizes are the sizes of products on which the effect of halving is measured.
var largeSizes = []int{256, 512, 1024, 2048, 4096, 8192}

// tuneCutoff chooses the size down to which Strassen's algorithm halves products of T; Winograd's form uses it in
// proportion. It measures products of growing size, with one halving and without, until halving is faster.
func tuneCutoff[T kernel.Float](ctx context.Context, t *tuner, until time.Time) error {
	rate, err := speed[T](ctx, t)
	if err != nil {
		return err
	}
	strassen, packed := variant("serial/strassen"), variant("serial/packed")
	search := halvings.before(until.Add(-time.Until(until) / 10))
	note := ""
	var before *point // the last size without a gain
	best := 0
	for _, n := range largeSizes {
		params, err := strassen.Resolve(gemm.Params{"cutoff": n / 2})
		if err != nil {
			return err
		}
		shape := plan.Request{Variant: strassen, Type: gemm.TypeOf[T]().Name, Shape: gemm.Cube(n), Op: "nn", Alpha: 1,
			Params: params}.Case()
		// Both are computed once for the verification, and once for each pair.
		calls := float64(2 * (1 + search.pairs))
		if calls*2*shape.Terms()/rate > time.Until(search.until).Seconds() {
			break
		}
		if have := float64(cpu.Available()); have > 0 && shape.Bytes() > have {
			break
		}
		w, err := newWorkload[T](shape.Shape, blas.NoTrans, strassen, params)
		if err != nil {
			return err
		}
		whole, err := gemm.New[T](packed, nil)
		if err != nil {
			return err
		}
		halved, err := gemm.New[T](strassen, params)
		if err != nil {
			return err
		}
		g, err := try(ctx, t, search, w, Trial{Setting: "cutoff", Candidate: "halved", Incumbent: "whole"}, w.by(whole),
			w.by(halved))
		if err != nil {
			return err
		}
		if !g.Ratio.Known() { // the time is over
			break
		}
		p := point{n, 1 / float64(g.Ratio)}
		if g.faster() {
			best, note = int(breakEvenBeyond(p)), fmt.Sprintf("halving pays from %d", n)
			if before != nil {
				best, note = int(breakEven(*before, p)), fmt.Sprintf("halving pays at %d, not at %d", n, before.n)
			}
			break
		}
		best, note = max(n, int(breakEvenBeyond(p))), fmt.Sprintf("halving was not faster up to %d, predicted from there", n)
		before = &p
	}
	return confirmCutoff[T](ctx, t, until, best, note, strassen)
}

// confirmCutoff uses the cutoff that was found if it is faster than the default at a size that only one of them
// halves. best is 0 if none was found.
func confirmCutoff[T kernel.Float](ctx context.Context, t *tuner, until time.Time, best int, note string,
	strassen gemm.Variant) error {
	c := Choice{Setting: "cutoff", Default: fmt.Sprint(t.cutoff), Chosen: fmt.Sprint(t.cutoff), Note: note}
	if best == 0 {
		c.Note = "no time for one measurement: raise --time"
		recordChoice[T](t, c)
		return nil
	}
	best = min(max(best, tuned.MinCutoff), tuned.MaxCutoff)
	n := max(best, t.cutoff)
	for _, size := range largeSizes {
		if size > min(best, t.cutoff) && size <= n {
			n = size
			break
		}
	}
	if best == t.cutoff || n > maxSize {
		recordChoice[T](t, c)
		return nil
	}
	w, err := newWorkload[T](gemm.Cube(n), blas.NoTrans, strassen, gemm.Params{"cutoff": min(best, t.cutoff)})
	if err != nil {
		return err
	}
	var with [2]func(ctx context.Context) error
	for i, cutoff := range []int{t.cutoff, best} {
		m, err := gemm.New[T](strassen, gemm.Params{"cutoff": cutoff})
		if err != nil {
			return err
		}
		with[i] = w.by(m)
	}
	return confirm(ctx, t, until, c, w, fmt.Sprint(best), with[0], with[1],
		func(v *tuned.Values) { v.Cutoff = best })
}

// point is the measured effect of one level of Strassen's algorithm at one size: the time of the
// product that is halved once, divided by the time of the product that is not.
type point struct {
	n     int
	ratio float64
}

// A level of Strassen's algorithm replaces eight products of halves by seven, which saves time in n³, and adds sums,
// which take time in n². So the ratio is α + γ/n, and the break-even size is where it is 1.

// breakEven returns the break-even size between two measured sizes; the second is faster when halved.
func breakEven(before, after point) float64 {
	gamma := (before.ratio - after.ratio) / (1/float64(before.n) - 1/float64(after.n))
	alpha := after.ratio - gamma/float64(after.n)
	if n := gamma / (1 - alpha); gamma > 0 && alpha < 1 {
		return n
	}
	return float64(before.n) // noise
}

// breakEvenBeyond estimates the break-even size from one measured size, with α = ⅞: the products of
// halves are as fast as the whole.
func breakEvenBeyond(p point) float64 { return (p.ratio - 7.0/8) * 8 * float64(p.n) }
