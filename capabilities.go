package gemm

import (
	"slices"
	"strings"
)

// Location is where the products of a variant are computed.
type Location string

// The locations. A Run of a variant on ranks is a record.Distributed, and one of a variant on a
// GPU is a record.OnDevice.
const (
	InProcess Location = ""      // by this process, or by one that serves it alone
	OnRanks   Location = "ranks" // by the processes of an MPI job
	OnGPU     Location = "gpu"   // by a GPU, with the driver in the worker's process
)

// Role is the purpose of a variant.
type Role string

// The roles. The zero value is record.Rung.
const (
	Production Role = "production" // what users choose for their products
	Baseline   Role = "baseline"   // what others are compared with, in Go
	Library    Role = "library"    // the product of a library of others
	UserKernel Role = "user"       // a kernel of the user, of any quality
	Program    Role = "program"    // a textbook program in C or Python: it shows what compilers and OpenMP do
	Study      Role = "study"      // settings of one algorithm that an experiment compares: no ladder has it
)

// Ours reports whether the variant is of this suite.
func (r Role) Ours() bool { return r == "" || r == Production || r == Study }

// Outside reports whether code outside of this suite computes the products, with its own workers: a
// library, a program in C or a kernel of the user.
func (r Role) Outside() bool { return r == Library || r == UserKernel || r == Program }

// Class says how much a product costs, by how its loops are made.
type Class string

// The classes.
const (
	Plain       Class = ""            // loops that a compiler made, or what the variants cost that compute its parts
	Interpreted Class = "interpreted" // loops in an interpreter: a hundred times as slow as compiled ones
	Textbook    Class = "textbook"    // the definition as it is written down: the slowest loops that are compiled
	Tuned       Class = "tuned"       // a micro-kernel on packed blocks, near the peak
	Fast        Class = "fast"        // fewer multiplications than the definition has, on tuned leaves
)

// Capabilities are the optional interfaces of the multipliers of a variant.
type Capabilities uint

// The capabilities. The full BLAS operation is for floating-point types only. A library
// that is staged in a separate process is not a Stager on systems without such processes.
const (
	Gemms       Capabilities = 1 << iota // Gemmer
	Stages                               // Stager
	GemmStages                           // GemmStager
	Touches                              // record.Toucher
	Explains                             // Explainer
	Warns                                // record.Warner
	Repeats                              // the Run of a Stager is a record.Repeater
	Loads                                // record.Loadable
	Chains                               // record.Chainer
	Batches                              // BatchGemmer
	BatchStages                          // BatchStager
)

// Has reports whether c has all of those.
func (c Capabilities) Has(those Capabilities) bool { return c&those == those }

// capabilities are the names in records. Names of a later version are ignored.
var capabilities = []string{"gemm", "stage", "gemm-stage", "touch", "explain", "warn", "repeat", "load", "chain",
	"batch", "batch-stage"}

// MarshalText returns the names of the capabilities, with blanks between them.
func (c Capabilities) MarshalText() ([]byte, error) {
	var names []string
	for i, name := range capabilities {
		if c.Has(1 << i) {
			names = append(names, name)
		}
	}
	return []byte(strings.Join(names, " ")), nil
}

// UnmarshalText reads names with blanks between them.
func (c *Capabilities) UnmarshalText(text []byte) error {
	*c = 0
	for name := range strings.FieldsSeq(string(text)) {
		if i := slices.Index(capabilities, name); i >= 0 {
			*c |= 1 << i
		}
	}
	return nil
}
