package gemm

// Location says where the products of a variant are computed.
type Location int

// The locations. A Run of a variant on ranks is an account.Distributed, and one of a variant on a
// GPU is a usage.OnDevice.
const (
	InProcess Location = iota // by this process, or by one that serves it alone
	OnRanks                   // by the processes of an MPI job
	OnGPU                     // by a GPU, with the driver in the worker's process
)

// Role says what a variant is there for.
type Role int

// The roles.
const (
	Rung       Role = iota // a step of a ladder: it shows one idea
	Production             // what users choose for their products
	Baseline               // what others are compared with, in Go
	Library                // the product of a library of others
	Brought                // a kernel that the user brought, of any quality
	Program                // a textbook program in C or Python: it shows what compilers and OpenMP do
	Study                  // settings of one algorithm that an experiment compares: no ladder has it
)

// Outside reports whether code that is not of this suite computes the products, with workers of its own: a
// library, a program in C or a kernel of the user.
func (r Role) Outside() bool { return r == Library || r == Brought || r == Program }

// Capabilities are the optional interfaces of the multipliers of a variant.
type Capabilities uint

// The capabilities. Those about the full BLAS operation are for floating-point types only. A library
// that is staged in a process of its own is not a Stager on systems without such processes.
const (
	Gemms       Capabilities = 1 << iota // Gemmer
	Stages                               // Stager
	GemmStages                           // GemmStager
	Touches                              // optional.Toucher
	Explains                             // Explainer
	Warns                                // optional.Warner
	Repeats                              // the Run of a Stager is an optional.Repeater
	Loads                                // optional.Loadable
	Chains                               // optional.Chainer
	Batches                              // BatchGemmer
	BatchStages                          // BatchStager
)

// Has reports whether c has all of those.
func (c Capabilities) Has(those Capabilities) bool { return c&those == those }
