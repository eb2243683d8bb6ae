package mpi

import (
	"slices"

	"gemm"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
	"gemm/reference"
)

// scalapack is the product of a library on the same ranks and operands: one call of ScaLAPACK's pdgemm or psgemm (Choi,
// Dongarra, Ostrouchov, Petitet, Walker and Whaley, A proposal for a set of parallel basic linear algebra subprograms,
// LNCS 1041, 1996). Matrices are distributed block-cyclically: square blocks are assigned to the rows and columns of
// the grid, round robin. This keeps all ranks busy in algorithms that work on a part of a matrix.
//
// The library stores matrices by columns, so our matrices are transposed for it. Its grid is P×Q with P ≤ Q. It
// distributes the rows of the transposed matrices, our columns, over P, and our rows over Q.
//
//	grid of 1×2, blocks of 2      rank 0            rank 1
//	C of 7 rows                   rows 0–1, 4–5     rows 2–3, 6
//
// The library sends its messages itself: they are not counted and not planned.
type scalapack[T gemm.Float] struct {
	task    *task[T]
	library *comm.ScaLAPACK
	grid    plan.Grid
	ranks   *comm.ProcessGrid
	block   int
	a, b, c gemm.Matrix[T] // this rank's
}

func newScaLAPACK[T gemm.Float](t *task[T]) (product[T], error) {
	library, err := comm.OpenScaLAPACK()
	if err != nil {
		return nil, err
	}
	x := &scalapack[T]{task: t, library: library, block: t.params.Int("block")}
	x.grid = plan.Squarest(t.world.Size(), gemm.Shape{})
	i, j, _ := x.grid.At(t.rank())
	own := func(rows, cols int) gemm.Matrix[T] {
		return newMatrix[T](count(cyclic(rows, x.block, x.grid.Q, j)), count(cyclic(cols, x.block, x.grid.P, i)))
	}
	s := t.shape
	x.a, x.b, x.c = own(s.M, s.K), own(s.K, s.N), own(s.M, s.N)
	return x, nil
}

// cyclic returns part i of n indices whose blocks are assigned to the parts round robin.
//
//	cyclic(7, 2, 2, i): [0,2) [4,6) | [2,4) [6,7)
func cyclic(n, block, parts, i int) []plan.Span {
	var out []plan.Span
	for lo := i * block; lo < n; lo += parts * block {
		out = append(out, plan.Span{Lo: lo, Hi: min(lo+block, n)})
	}
	return out
}

// count returns the number of indices of a part.
func count(part []plan.Span) int {
	n := 0
	for _, s := range part {
		n += s.Len()
	}
	return n
}

// areas returns a function that returns the blocks of a rank in a matrix of rows×cols, row by row.
func (x *scalapack[T]) areas(rows, cols int) func(rank int) []comm.Block {
	return func(rank int) (out []comm.Block) {
		i, j, _ := x.grid.At(rank)
		for _, r := range cyclic(rows, x.block, x.grid.Q, j) {
			for _, c := range cyclic(cols, x.block, x.grid.P, i) {
				out = append(out, comm.Block{Rows: r, Cols: c})
			}
		}
		return out
	}
}

// blocks returns where the areas of this rank lie in its own matrix.
func (x *scalapack[T]) blocks(own gemm.Matrix[T], rows, cols int) (out []gemm.Matrix[T]) {
	i, j := 0, 0
	for _, s := range x.areas(rows, cols)(x.task.rank()) {
		out = append(out, own.Slice(i, j, s.Rows.Len(), s.Cols.Len()))
		if j += s.Cols.Len(); j == own.Cols {
			i, j = i+s.Rows.Len(), 0
		}
	}
	return out
}

func (x *scalapack[T]) prepare() (err error) {
	if x.ranks, err = x.library.Grid(x.grid.P, x.grid.Q); err != nil {
		return err
	}
	s, world := x.task.shape, x.task.world
	if err := comm.ScatterBlocks(world, x.task.a, x.areas(s.M, s.K), x.blocks(x.a, s.M, s.K)); err != nil {
		return err
	}
	return comm.ScatterBlocks(world, x.task.b, x.areas(s.K, s.N), x.blocks(x.b, s.K, s.N))
}

// multiply cannot be interrupted.
func (x *scalapack[T]) multiply(prof *profile) error {
	return prof.during(computing, func() error {
		return comm.Product(x.ranks, x.block, x.task.shape, x.c, x.a, x.b)
	})
}

func (x *scalapack[T]) collect() error {
	s := x.task.shape
	return comm.GatherBlocks(x.task.world, x.task.c, x.areas(s.M, s.N), x.blocks(x.c, s.M, s.N))
}

// plan implements product. Ranks that hold a block may have terms to compute; the library chooses which of them do.
func (x *scalapack[T]) plan() prediction {
	s, busy := x.task.shape, 0
	for rank := range x.task.world.Size() {
		i, j, _ := x.grid.At(rank)
		holds := func(rows, cols int) bool { return j*x.block < rows && i*x.block < cols }
		if holds(s.M, s.N) || holds(s.M, s.K) || holds(s.K, s.N) {
			busy++
		}
	}
	return prediction{schedule: plan.Schedule{Hosts: x.task.job.hosts}, grid: x.grid, busy: busy}
}

// Resolved implements gemm.Explainer.
func (x *scalapack[T]) Resolved() gemm.Params {
	out := gemm.Params{"library": x.library.File, "blas": x.library.BLAS, "threads": x.library.Threads}
	if x.library.Version != "" {
		out["version"] = x.library.Version
	}
	if x.library.Kernel != "" {
		out["kernel"] = x.library.Kernel
	}
	return out
}

// scalapackConstructor is constructor for a library that may be missing.
func scalapackConstructor[T gemm.Float](name string) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		m, err := constructor(name, newScaLAPACK[T])(p)
		if err == nil {
			_, err = comm.OpenScaLAPACK()
		}
		if err != nil {
			return nil, err
		}
		return m, nil
	}
}

func scalapackVariant() gemm.Variant {
	// It has one thread a rank, and computes by itself.
	params := slices.DeleteFunc(commonParams(),
		func(q gemm.Param) bool { return q.Name == "local" || q.Name == "threads" })
	const name = "reference/scalapack"
	return gemm.Variant{
		Name:     name,
		Doc:      "pdgemm of ScaLAPACK, found at run time, on the same ranks, with block-cyclic operands",
		Location: gemm.OnRanks,
		Role:     gemm.Library,
		Class:    gemm.Tuned,
		Can:      gemm.Stages | gemm.Explains,
		Params: append(params, gemm.Param{Name: "block", Default: 128, Min: 1, Max: 1 << 16,
			Doc: "rows and columns of a block of the block-cyclic distribution"}),
		Model: scalapackModel,
		Bound: gemm.Classical,
		F32:   scalapackConstructor[float32](name),
		F64:   scalapackConstructor[float64](name),
	}
}

// scalapackModel is the model of any library, on as many threads as there are ranks.
func scalapackModel(s gemm.Shape, p gemm.Params) gemm.Model {
	return reference.Variants()[0].Model(s, gemm.Params{"threads": p.Int("ranks")})
}

// Peers returns the libraries that run on the ranks of a job too.
func Peers() []gemm.Variant { return gemm.WithPseudocode(files, []gemm.Variant{scalapackVariant()}) }
