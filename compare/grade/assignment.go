package grade

import (
	"time"

	"gemm/user"
)

// Assignment is what students have to write, and how it is marked. It is read from YAML.
type Assignment struct {
	Title    string
	Language string // of the feedback: en or zh
	Kernel   Kernel
	Sizes    Sizes
	Rules    Rules
	Rubric   []Criterion
}

// Kernel says how a submission is called.
type Kernel struct {
	// ABI is an ABI of package user: square, rowmajor, fortran, cblas or cuda. program is a program with main, which is
	// started under mpirun: PROGRAM M N K A B C reads A and B from files and writes C, all by rows, without a header.
	ABI      user.ABI
	Type     string // f64 or f32
	Function string // empty: the usual one of the ABI
	Block    string // threads of a block, of cuda, as --block-dims
	Grid     string // blocks, of cuda, as --grid
}

// Sizes are the shapes of the products, N or MxNxK. Students know the public ones.
type Sizes struct {
	Public []string
	Hidden Hidden
}

// Hidden are shapes that are drawn from a seed.
type Hidden struct {
	Seed     uint64
	Count    int
	From, To int // the least and the largest dimension
}

// Rules limit submissions.
type Rules struct {
	Threads   int           // 0: 1
	Ranks     int           // of program; 0: 1
	Options   string        // of the compiler; empty: user.DefaultFlags
	Forbidden []string      // beginnings of symbols that a submission may not use, such as cblas_
	Time      time.Duration // of a product
	Compile   time.Duration // of the compiler
	Memory    string        // of a process, such as 2GiB
}

// Criterion is a line of the rubric. It has either Right or Speed.
type Criterion struct {
	Name   string
	Points float64
	// Right gives points for right results: the share of the shapes of a class that are right. The classes are public,
	// hidden, odd, even, square, slender and all.
	Right string
	// Whole gives points only if all shapes of the class are right.
	Whole bool
	// Speed gives points for the speed over that of Speed: peak, the name of a variant such as reference/openblas, or
	// rank, the share of the submissions that are not faster. A submission that is wrong at any shape has none.
	Speed string
	// From and To are the ratios with no points and with all. Between them points are linear.
	From, To float64
	// Step is what points are rounded to; 0: 1.
	Step float64
}
