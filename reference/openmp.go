package reference

import (
	"context"
	_ "embed" // the source of the program
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gemm"
	"gemm/internal/peer"
)

// OpenMP measures the cost of parallel loops in libgomp, GNU's OpenMP runtime, for comparison with package parallel.
// The loops run in a process of their own, a small program (openmp/main.c), which gcc -O2 -fopenmp compiles at the
// first use; it is kept in the user's cache folder. The process is stopped between measurements, so that spinning
// threads disturb no other measurement, and runs for 200 µs before the clock starts. libgomp has its default settings:
// environment variables that begin with OMP_ or GOMP_ are removed. The exception is OMP_STACKSIZE=16M, since the
// private arrays of a reduction are on the stacks of threads. It serves one measurement at a time.
type OpenMP struct{ process *peer.Process }

// openMPSource is the program that measures libgomp; its head has the requests that it understands.
//
//go:embed openmp/main.c
var openMPSource []byte

// openMPProgram is compiled from openMPSource. Clang has a runtime of its own, with which the source does not compile.
var openMPProgram = peer.Source{Name: "openmp", Text: openMPSource, Compilers: []string{"gcc", "cc"},
	Flags: []string{"-fopenmp"}}

var openMPFile = sync.OnceValues(openMPProgram.File)

// withoutOpenMP returns the environment without the variables that OpenMP and libgomp read.
func withoutOpenMP(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(setting string) bool {
		return strings.HasPrefix(setting, "OMP_") || strings.HasPrefix(setting, "GOMP_")
	})
}

// NewOpenMP starts the process; Close ends it. The error is a gemm.ErrUnavailable if
// there is no gcc or no libgomp, and elsewhere than on Linux.
func NewOpenMP() (*OpenMP, error) {
	file, err := openMPFile()
	var p *peer.Process
	if err == nil {
		cmd := exec.Command(file)
		// Private arrays of reductions lie on the threads' stacks.
		cmd.Env = append(withoutOpenMP(os.Environ()), "OMP_STACKSIZE=16M")
		p, err = peer.Start(cmd)
	}
	if err != nil {
		return nil, gemm.Unavailablef("libgomp cannot be measured: %w", err)
	}
	return &OpenMP{p}, nil
}

// ForkJoin returns the time of the given number of empty parallel regions.
func (o *OpenMP) ForkJoin(ctx context.Context, threads, times int) (time.Duration, error) {
	return o.exchange(ctx, "fork-join", threads, times)
}

// Loop returns the time of times loops of n empty bodies under schedule(runtime). The schedule is
// static, dynamic, guided or auto.
func (o *OpenMP) Loop(ctx context.Context, threads int, schedule string, chunk, n, times int) (time.Duration, error) {
	return o.exchange(ctx, schedule, threads, chunk, n, times)
}

// Merge returns the time to add private arrays of n float64, one per thread, to a shared one, times times. The method
// is atomic (an atomic addition per element), critical (a thread adds its whole array in a critical section), or reduce
// (the clause reduction; its private arrays are zeroed before the clock starts).
func (o *OpenMP) Merge(ctx context.Context, threads int, method string, n, times int) (time.Duration, error) {
	return o.exchange(ctx, method, threads, n, times)
}

// exchange returns the time that the program answers.
func (o *OpenMP) exchange(ctx context.Context, request string, numbers ...int) (time.Duration, error) {
	for _, x := range numbers {
		request += " " + strconv.Itoa(x)
	}
	took, err := o.process.Time(ctx, request)
	if err != nil {
		err = fmt.Errorf("libgomp, %s: %w", request, err)
	}
	return took, err
}

// Close ends the process.
func (o *OpenMP) Close() { o.process.Kill() }
