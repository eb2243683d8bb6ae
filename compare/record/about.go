package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gemm"
)

// Rung is the role of a step of a ladder: it shows one idea.
const Rung gemm.Role = ""

// About is what a variant declares for reports alone (gemm.Variant.About).
type About struct {
	// Fetch is how threads of a GPU get elements of A and B, by the name of the element type.
	Fetch map[string]Fetch `json:"fetch,omitempty"`
	// Parts are what published texts call the variant: claims and tables of reports are about them.
	Parts []Part `json:"parts,omitempty"`
	// Advice are the items of docs/advice.md that the variant follows.
	Advice []Advice `json:"advice,omitempty"`
	// Loop describes the innermost loop for floating-point elements, FieldLoop the one for GF(2⁸). The
	// zero value: it is not known.
	Loop      Loop `json:"loop,omitzero"`
	FieldLoop Loop `json:"field_loop,omitzero"`
}

// aboutOf returns what v declares. It panics if that is no About.
func aboutOf(v gemm.Variant) (a About) {
	text, ok := v.About.(string)
	if !ok && v.About != nil {
		data, _ := json.Marshal(v.About) // what it cannot write is not in the text
		text = string(data)
	}
	if text != "" {
		in := json.NewDecoder(strings.NewReader(text))
		in.DisallowUnknownFields()
		if err := in.Decode(&a); err != nil {
			panic(fmt.Sprintf("record: %s declares %s: %v", v.Name, text, err))
		}
	}
	return a
}

// Plays reports whether published texts have the variant as p.
func (a About) Plays(p Part) bool { return slices.Contains(a.Parts, p) }

// Fetch is how the threads of a GPU get the elements of A and B.
type Fetch string

// The ways to get elements. The zero value: slices in shared memory, element by element.
const (
	Uncoalesced Fetch = "uncoalesced" // from global memory, a warp down the rows of C
	Coalesced   Fetch = "coalesced"   // from global memory, a warp along a row
	Wide        Fetch = "wide"        // slices in shared memory, several elements at once where they are aligned
	Engine      Fetch = "engine"      // slices in shared memory, by the copy engine
	Producer    Fetch = "producer"    // the same, requested by a warpgroup that computes nothing
)

// Part is what published texts call a variant: their claims and tables are about it.
type Part string

// The parts. Several variants have the part Course; every other part has one variant.
const (
	Course         Part = "course"          // a version that courses on parallel programming teach
	ReportLoops    Part = "report-loops"    // of the 2024 report: the loops of its first chapter
	ReportKernel   Part = "report-kernel"   // loops i and k collapsed, private copies of C, atomic additions
	ReportOuter    Part = "report-outer"    // the outer loop alone in parallel
	ReportMessages Part = "report-messages" // rows by messages from rank to rank
	ReportRows     Part = "report-rows"     // rows by collective calls
	ReportBlocks   Part = "report-blocks"   // blocks by collective calls
)

// Advice is an item of docs/advice.md that a variant follows and another one, Over, does not.
type Advice struct {
	Item string `json:"item"`
	Over string `json:"over"`
}

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
