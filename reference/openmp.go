package reference

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gemm"
)

// OpenMP measures what parallel loops of libgomp cost, GNU's runtime of OpenMP, beside
// which those of package parallel stand. They run in a process of its own, a small
// program (openmp/main.c) that is compiled by gcc -O2 -fopenmp when it is first needed
// and kept in the user's cache folder. It is stopped between measurements, so that
// threads that wait by spinning slow down nobody, and awake for 200 µs before the clock
// starts. libgomp is as it comes, since variables of the environment that begin with OMP_
// or GOMP_ do not reach it, but for OMP_STACKSIZE, which is 16M: the private arrays of a
// reduction lie on the stacks of its threads. It serves one measurement at a time.
type OpenMP struct{ process *process }

// NewOpenMP starts the process; Close ends it. The error is a gemm.ErrUnavailable where
// there is no gcc or no libgomp, and elsewhere than on Linux.
func NewOpenMP() (*OpenMP, error) {
	p, err := newOpenMPProcess()
	if err != nil {
		return nil, gemm.Unavailablef("libgomp cannot be measured: %w", err)
	}
	return &OpenMP{p}, nil
}

// ForkJoin returns the time of so many parallel regions with nothing in them.
func (o *OpenMP) ForkJoin(ctx context.Context, threads, times int) (time.Duration, error) {
	return o.ask(ctx, "fork-join", threads, times)
}

// Loop returns the time of so many loops of n empty bodies under schedule(runtime). The
// schedule is static, dynamic or guided.
func (o *OpenMP) Loop(ctx context.Context, threads int, schedule string, chunk, n, times int) (time.Duration, error) {
	return o.ask(ctx, schedule, threads, chunk, n, times)
}

// Merge returns the time in which private arrays of n float64, one a thread, were added
// to a shared one so many times. The method is atomic, an atomic addition an element;
// critical, a critical section in which a thread adds all of its array; or reduce, the
// clause reduction, whose private arrays are set to zero before the clock starts.
func (o *OpenMP) Merge(ctx context.Context, threads int, method string, n, times int) (time.Duration, error) {
	return o.ask(ctx, method, threads, n, times)
}

// ask returns the time that the program answers.
func (o *OpenMP) ask(ctx context.Context, what string, numbers ...int) (time.Duration, error) {
	words := []string{what}
	for _, x := range numbers {
		words = append(words, strconv.Itoa(x))
	}
	text, err := o.process.ask(ctx, strings.Join(words, " "), nil, nil)
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
func (o *OpenMP) Close() { o.process.kill() }
