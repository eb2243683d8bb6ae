package mpi

import (
	"math"

	"gemm"
	"gemm/gf256"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// layers is summa on several layers of ranks, the 2.5D algorithm. The range of k is divided among the layers. Each
// layer computes its part of every element of C, and the parts are added, which leaves some rows of its block on each
// rank (Solomonik and Demmel, Communication-optimal parallel 2.5D matrix multiplication and LU factorization
// algorithms, Euro-Par 2011; with copies of C, as in Schatz, van de Geijn and Poulson, Parallel matrix multiplication:
// a systematic journey, SIAM J. Sci. Comput. 38(6), 2016). The copies of C need memory, and save the messages of a
// larger grid: with C layers of P×Q ranks, a rank receives (1−1/Q)·mk/PC + (1−1/P)·kn/QC + (1−1/C)·mn/PQ elements.
//
//	grid of 2×2×2      layer 0: ranks 0–3, k in [0, k/2)     layer 1: ranks 4–7, the rest
//	panels             C⁰ on 0–3                             C¹ on 4–7
//	ReduceScatter      rank 0: first rows of C⁰₀₀ + C¹₀₀     rank 4: its last rows
type layers[T gemm.Element] struct {
	*summa[T] // of this rank's layer
	l         int
	sum       gemm.Matrix[T] // this rank's rows of its block of C
}

func newLayers[T gemm.Element](t *task[T]) (product[T], error) {
	g := t.lay(layersOf(t.params, t.world.Size(), t.shape, int64(gemm.TypeOf[T]().Size)), plan.LayersFlow)
	x := &layers[T]{}
	if g.C > 1 {
		if err := comm.Countable(ceil(t.shape.M, g.P)*ceil(t.shape.N, g.Q), "to add",
			"use more ranks or fewer layers"); err != nil {
			return nil, err
		}
	}
	rank := t.world.Rank()
	if rank < g.Ranks() {
		_, _, x.l = g.At(rank)
	}
	x.summa = newBroadcasts(t, g, t.panelsOf(g.Grid, plan.Split(t.shape.K, g.C, x.l)))
	return x, nil
}

// layersOf returns the grid that resolved parameters ask for, which all ranks find alike from the size of the product.
func layersOf(p gemm.Params, ranks int, s gemm.Shape, size int64) plan.Grid {
	return plan.Layered(ranks, s, p.Int("replication"), min(mostCopy/float64(size), math.MaxInt32))
}

// mostCopy is the size of a rank's copy of C, in bytes, up to which layers are added.
const mostCopy = 4 << 30

func (x *layers[T]) place() (err error) {
	if err = x.settle(); err != nil || x.Ranks == nil {
		return err
	}
	x.sum = x.c
	if x.grid.C > 1 {
		x.sum = memory.Matrix[T](plan.Split(x.m, x.grid.C, x.l).Len(), x.n)
	}
	return x.fill(func(l int) []plan.Panel {
		return x.panelsOf(x.grid.Grid, plan.Split(x.shape.K, x.grid.C, l))
	})
}

func (x *layers[T]) multiply(k *clock) error {
	if err := x.summa.multiply(k); err != nil || x.Ranks == nil || x.grid.C == 1 {
		return err
	}
	return k.during(reducing, func() error {
		return comm.ReduceScatter(x.Through, x.c, plan.Spans(x.c.Rows, x.grid.C), x.sum)
	})
}

func (x *layers[T]) collect() error {
	if x.Ranks == nil {
		return nil
	}
	return comm.Unite(x.Ranks, x.task.c, func(rank int) []comm.Block {
		i, j, l := x.grid.At(rank)
		rows := plan.Split(x.shape.M, x.grid.P, i)
		part := plan.Split(rows.Len(), x.grid.C, l)
		own := plan.Span{Lo: rows.Lo + part.Lo, Hi: rows.Lo + part.Hi}
		return []comm.Block{{Rows: own, Cols: plan.Split(x.shape.N, x.grid.Q, j)}}
	}, []gemm.Matrix[T]{x.sum})
}

func (x *layers[T]) plan() prediction {
	out := x.predict(plan.Layers(x.shape, x.grid.Hosts(x.job.hosts), x.grid.Grid, x.panel()))
	out.largest.K = ceil(x.shape.K, x.grid.C)
	return out
}

func layersVariant() gemm.Variant {
	v := gemm.Variant{
		Name:   "mpi/25d",
		Spread: true,
		Doc:    "summa on layers of ranks that divide k; the copies of C are added: more memory, less communication",
		Params: commonParams(scheduleParam(), replicationParam(), broadParam()),
	}
	v = types{newLayers[float32], newLayers[float64], newLayers[gf256.Elem]}.of(v)
	return variant(v, func(s gemm.Shape, ranks int, p gemm.Params) float64 {
		return spreadWorkspace(s, layersOf(p, ranks, s, 8), p)
	})
}
