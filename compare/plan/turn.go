package plan

import (
	"fmt"

	"gemm"
	"gemm/compare/record"
	"gemm/gf256"
)

// turn returns the name of the turn of c: the cases that its times are compared with. It is empty if
// there are none. For the experiment weak, c has the shape of one thread. The turns are:
//
//	ranks               all cases with the same type, shape and number of ranks, apart from the
//	                    experiment distribution
//	GPU                 all cases with the same type and shape
//	experiments         all settings of one variant, or of one number of threads
//	compiler            all loops and options, without the builds of this program
//	openmp              the pool and OpenMP with the same setting
//	batch               all cases with the same type, shape and products
//	codes               all codes with short shards of one length
//	production, peers   all of them with the same type and shape
func (c Case) turn() string {
	if ranks := c.Ranks(); ranks > 0 {
		name := fmt.Sprintf("mpi %s %s %s, %d ranks", c.Type, c.Shape, c.Op, ranks)
		if c.Hosts > 0 {
			name += fmt.Sprintf(" on %d hosts", c.Hosts)
		}
		if c.Experiment == record.Distributions { // with much longer products than the other experiments
			name = string(c.Experiment) + " " + name
		}
		return name
	}
	if c.OnDevice() {
		name := fmt.Sprintf("cuda %s %s %s", c.Type, c.sized(), c.Op)
		if c.Experiment != record.MainLadder {
			name = string(c.Experiment) + " " + name
		}
		return name
	}
	switch c.Experiment {
	case record.StrongScaling, record.WeakScaling, record.Affinities, record.ProcessorLimits, record.LoopOrders,
		record.IteratedProduct:
		return fmt.Sprintf("%s %s %s %s %s", c.Experiment, c.Variant.Name, c.Type, c.Shape, c.Op)
	case record.ChunkSizes, record.ArtificialLoad:
		return fmt.Sprintf("%s %s %s %s %s, %d threads", c.Experiment, c.Variant.Name, c.Type, c.Shape, c.Op, c.Threads())
	case record.Batches, record.CompilerOptions:
		return fmt.Sprintf("%s %s %s %s", c.Experiment, c.Type, c.sized(), c.Op)
	case record.OpenMPLoops:
		return fmt.Sprintf("%s %s %s %s, %s", c.Experiment, c.Type, c.Shape, c.Op, c.Params)
	}
	switch {
	case !inTurn(c.Variant):
		return ""
	case c.Type == "gf256" && c.M+c.K <= gf256.MaxShards && leastShard <= c.N && c.N <= shortShard:
		return fmt.Sprintf("peers %s, shards of %d bytes", c.Type, c.N)
	}
	return c.peers()
}

// sized returns the shape, with the products of a batch before it.
func (c Case) sized() string {
	if c.Batch == 0 {
		return c.Shape.String()
	}
	return fmt.Sprintf("%d of %s", c.Batch, c.Shape)
}

// peers returns the name of the turn of production variants and their peers.
func (c Case) peers() string { return fmt.Sprintf("peers %s %s %s", c.Type, c.Shape, c.Op) }

// The codes with shards of one length, within these bounds in bytes, are one turn. Disturbances on a shared host last a
// second or two, which is as long as a turn of one code. Longer shards have longer samples.
const (
	leastShard = 4 << 10
	shortShard = 64 << 10
)

// inTurn reports whether a variant is compared with its peers in a turn: production variants, gonum,
// and the libraries of others.
func inTurn(v gemm.Variant) bool {
	switch v.Location {
	case gemm.InProcess:
		return v.Role != record.Rung && v.Role != gemm.Program
	case gemm.OnRanks:
		return v.Role == gemm.Library
	}
	return false
}
