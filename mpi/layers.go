package mpi

import (
	"math"

	"gemm"
	"gemm/cuda/remote"
	"gemm/gf256"
	"gemm/mpi/comm"
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
	task  *task[T]
	grid  plan.Layout
	layer *summa[T]      // on this rank's layer, of its range of k
	l     int            // the layer of this rank
	sum   gemm.Matrix[T] // this rank's rows of its block of C
}

func newLayers[T gemm.Element](t *task[T]) (product[T], error) {
	g := t.placeOn(layersOf(t.params, t.world.Size(), t.shape, int64(gemm.TypeOf[T]().Size)), inPanels(plan.Layers))
	if g.C > 1 {
		if err := comm.Countable(ceil(t.shape.M, g.P)*ceil(t.shape.N, g.Q), "to add",
			"use more ranks or fewer layers"); err != nil {
			return nil, err
		}
	}
	x := &layers[T]{task: t, grid: g}
	if t.rank() < g.Ranks() {
		_, _, x.l = g.At(t.rank())
	}
	x.layer = newSummaOf(t, g, x.panels(x.l))
	return x, nil
}

func (x *layers[T]) panels(l int) []plan.Panel {
	return x.task.panelsOf(x.grid.Grid, plan.Split(x.task.shape.K, x.grid.C, l))
}

// layersOf returns the grid of resolved parameters. All ranks compute the same grid from the shape of the product.
func layersOf(p gemm.Params, ranks int, s gemm.Shape, size int64) plan.Grid {
	return plan.Layered(ranks, s, p.Int("replication"), min(mostCopy/float64(size), math.MaxInt32))
}

// mostCopy is the size of a rank's copy of C, in bytes, up to which layers are added.
const mostCopy = 4 << 30

// Resolved implements gemm.Explainer.
func (x *layers[T]) Resolved() gemm.Params { return x.layer.Resolved() }

func (x *layers[T]) prepare() error {
	own := x.layer.own
	if err := own.prepare(x.panels); err != nil || !own.inside {
		return err
	}
	x.sum = own.c
	if x.grid.C > 1 {
		x.sum = newMatrix[T](plan.Split(own.m, x.grid.C, x.l).Len(), own.n)
	}
	return nil
}

func (x *layers[T]) multiply(prof *profile) error {
	own := x.layer.own
	if err := x.layer.multiply(prof); err != nil || !own.inside || x.grid.C == 1 {
		return err
	}
	return prof.during(reducing, func() error {
		c := own.c
		if g := x.task.gpu(); g != nil { // the host adds
			g.copy(remote.Down, own.c)
			c = newMatrix[T](c.Rows, c.Cols)
			comm.Copy(c, own.c)
		}
		return comm.ReduceScatter(own.ranks.Through, c, plan.Spans(own.m, x.grid.C), x.sum)
	})
}

// collect gathers the rows of C that each layer has summed.
func (x *layers[T]) collect() error {
	if x.grid.C == 1 {
		return x.layer.collect()
	}
	if !x.layer.own.inside {
		return nil
	}
	return comm.GatherBlocks(x.layer.own.ranks.Ranks, x.task.c, func(rank int) []comm.Block {
		i, j, l := x.grid.At(rank)
		rows := plan.Split(x.task.shape.M, x.grid.P, i)
		part := plan.Split(rows.Len(), x.grid.C, l)
		own := plan.Span{Lo: rows.Lo + part.Lo, Hi: rows.Lo + part.Hi}
		return []comm.Block{{Rows: own, Cols: plan.Split(x.task.shape.N, x.grid.Q, j)}}
	}, []gemm.Matrix[T]{x.sum})
}

func (x *layers[T]) plan() prediction {
	out := x.layer.plan()
	out.largest.K = ceil(x.task.shape.K, x.grid.C)
	return out
}

func layersVariant() gemm.Variant {
	return variant(gemm.Variant{
		Name:   "mpi/25d",
		Spread: true,
		Doc:    "summa on layers of ranks that divide k; the copies of C are added: more memory, less communication",
		Params: onGPUs(commonParams(scheduleParam(), replicationParam(), broadParam())),
	}, types{newLayers[float32], newLayers[float64], newLayers[gf256.Elem]},
		func(s gemm.Shape, ranks int, p gemm.Params) float64 {
			return distributedWorkspace(s, layersOf(p, ranks, s, 8), p)
		})
}
