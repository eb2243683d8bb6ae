package reference

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gemm"
	"gemm/internal/peer"
)

// OpenMP measures the cost of parallel loops in libgomp, GNU's OpenMP runtime, for comparison with
// package parallel. The loops run in a process of their own, a small program (openmp/main.c), which
// gcc -O2 -fopenmp compiles at the first use; it is kept in the user's cache folder. The process is
// stopped between measurements, so that spinning threads disturb nobody, and runs for 200 µs before
// the clock starts. libgomp has its default settings: environment variables that begin with OMP_ or
// GOMP_ are removed. The exception is OMP_STACKSIZE=16M, since the private arrays of a reduction
// are on the stacks of threads. It serves one measurement at a time.
type OpenMP struct{ process *peer.Process }

// NewOpenMP starts the process; Close ends it. The error is a gemm.ErrUnavailable if
// there is no gcc or no libgomp, and elsewhere than on Linux.
func NewOpenMP() (*OpenMP, error) {
	p, err := newOpenMPProcess()
	if err != nil {
		return nil, gemm.Unavailablef("libgomp cannot be measured: %w", err)
	}
	return &OpenMP{p}, nil
}

// ForkJoin returns the time of the given number of empty parallel regions.
func (o *OpenMP) ForkJoin(ctx context.Context, threads, times int) (time.Duration, error) {
	return o.ask(ctx, "fork-join", threads, times)
}

// Loop returns the time of times loops of n empty bodies under schedule(runtime). The schedule is
// static, dynamic or guided.
func (o *OpenMP) Loop(ctx context.Context, threads int, schedule string, chunk, n, times int) (time.Duration, error) {
	return o.ask(ctx, schedule, threads, chunk, n, times)
}

// Merge returns the time to add private arrays of n float64, one per thread, to a shared one, times
// times. The method is atomic (an atomic addition per element), critical (a thread adds its whole
// array in a critical section), or reduce (the clause reduction; its private arrays are zeroed
// before the clock starts).
func (o *OpenMP) Merge(ctx context.Context, threads int, method string, n, times int) (time.Duration, error) {
	return o.ask(ctx, method, threads, n, times)
}

// ask returns the time that the program answers.
func (o *OpenMP) ask(ctx context.Context, what string, numbers ...int) (time.Duration, error) {
	words := []string{what}
	for _, x := range numbers {
		words = append(words, strconv.Itoa(x))
	}
	text, err := o.process.Ask(ctx, strings.Join(words, " "), nil, nil)
	if err != nil {
		return 0, fmt.Errorf("libgomp, %s: %w", words, err)
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("libgomp, %s: answers %q for a time", words, text)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// Close ends the process.
func (o *OpenMP) Close() { o.process.Kill() }
