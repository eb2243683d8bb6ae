package block

import "gemm/internal/kernel"

// packChunks packs the chunks lo ≤ chunk < hi of the panel of A.
func (e *task[T]) packChunks(g *job[T], worker, lo, hi int) {
	for chunk := lo; chunk < hi; chunk++ {
		if g.sum == nil {
			e.packChunk(g, chunk)
		} else {
			e.packSum(g, worker, chunk)
		}
	}
}

func (e *task[T]) packChunk(g *job[T], chunk int) {
	mr := e.kernel.MR
	row := chunk * g.plan.Rows
	height, taller, slivers := e.kernel.Slivers(min(g.plan.Rows, g.m-row))
	to := e.a[row*g.k:]
	for s := range slivers {
		if s == taller {
			height--
		}
		e.pack(to[:mr*g.k], mr, height, g.k, g.a.Data[row*g.a.Row:], g.a.Row, g.a.Col)
		row, to = row+height, to[mr*g.k:]
	}
}

// packBlock packs a block of kc rows and nc columns of B.
func (e *Engine[T]) packBlock(to []T, b View[T], kc, nc int) {
	nr := e.kernel.NR
	if b.Col == 1 {
		e.kernel.Split(kc, nc, to, nr*kc, b.Data, b.Row)
		return
	}
	for jr := 0; jr < nc; jr += nr {
		e.pack(to[jr*kc:][:nr*kc], nr, min(nr, nc-jr), kc, b.Data[jr*b.Col:], b.Col, b.Row)
	}
}

// pack copies a sliver of steps×have elements. Lane p of step l is copied from src[p*lane+l*step] to
// dst[l*lanes+p]. Lanes from have on are undefined.
func (e *Engine[T]) pack(dst []T, lanes, have, steps int, src []T, lane, step int) {
	switch {
	case lane == 1:
		e.kernel.Copy(steps, have, dst, lanes, src, step)
	case step == 1:
		e.kernel.Transpose(have, steps, dst, lanes, src, lane)
	default:
		for l := range steps {
			for p := range have {
				dst[l*lanes+p] = src[p*lane+l*step]
			}
		}
	}
}

// packColumns copies the first columns of B, k elements each.
func (w *workspace[T]) packColumns(b View[T], k, columns int) {
	w.x = grown(w.x, k*columns)
	copyColumns(w.x, b, k, columns)
}

func copyColumns[T kernel.Float](to []T, b View[T], k, columns int) {
	for j := range columns {
		x, from := to[j*k:][:k], b.Data[j*b.Col:]
		for l := range x {
			x[l] = from[l*b.Row]
		}
	}
}
