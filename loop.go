package gemm

// Loop describes the innermost loop of a variant: what a multiply-add costs a core besides its
// arithmetic. Reports predict from it what a variant gains over its parent, and why.
type Loop struct {
	// Order is the order of the three plain loops, the outermost first; empty: they are no plain loops.
	Order string `json:"order,omitempty"`
	// Level is the loop that a schedule divides among workers.
	Level Level `json:"level,omitempty"`
	// Sums is the number of sums that consecutive multiply-adds are added to, one after the other. A
	// sum waits for its previous addition. 0: every multiply-add has a sum of its own.
	Sums int `json:"sums,omitempty"`
	// Stored says that the sum is an element of C, which is stored and loaded again for every addition.
	Stored bool `json:"stored,omitempty"`
	// Instructions is the number of instructions for a multiply-add, or for a vector of them if the
	// loop has vector instructions. It is counted in the compiled loop for f64 or GF(2⁸) with
	// GOAMD64=v1 (go tool objdump). Checks is the number of those that check bounds.
	Instructions float64 `json:"instructions,omitempty"`
	Checks       float64 `json:"checks,omitempty"`
	// Walk is how the loop reads B.
	Walk Walk `json:"walk,omitempty"`
	// Vector says that an instruction computes as many elements as a vector of the host has, and
	// that a tile of C stays in registers. The Go compiler generates no vector instructions.
	Vector bool `json:"vector,omitempty"`
	// Atomic says what is added to C by compare-and-swap instructions.
	Atomic Atomic `json:"atomic,omitempty"`
	// Joins says that the workers fork and join for every element of A.
	Joins bool `json:"joins,omitempty"`
	// Local says that the parameter local names the variant whose loop the workers run.
	Local bool `json:"local,omitempty"`
}

// Level is a loop that a schedule divides among workers.
type Level string

// The loops that are divided; the zero value is the one over the rows of C.
const (
	InnerLevel     Level = "inner"     // the innermost, over the columns of C
	CollapsedLevel Level = "collapsed" // the loops over i and k, as one
	TilesLevel     Level = "tiles"     // tiles of C, whose edge is the parameter tile
)

// Walk is the order in which a loop reads B.
type Walk string

// The orders in which loops read B.
const (
	Columns Walk = "columns" // down the columns: each element is in another cache line
	Rows    Walk = "rows"    // along the rows, all of B again for every row of C
	Blocks  Walk = "blocks"  // along the rows of a block that stays in the second level of cache
)

// Atomic is what workers add to C by atomic instructions.
type Atomic string

// What workers add to C by atomic instructions; the zero value is nothing.
const (
	AtomicTerms  Atomic = "terms"  // every term
	AtomicCopies Atomic = "copies" // at the end, the elements of the private C of each worker
)
