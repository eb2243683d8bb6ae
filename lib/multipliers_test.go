//go:build cgo && !windows

package main

import (
	"cmp"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gemmtest"
)

// plain returns the product C = A·B of matrices of small integers. Its result is exact in every variant.
func plain(m, n, k int) product[float64] {
	integers := gemmtest.Integers[float64]
	return product[float64]{tA: blas.NoTrans, tB: blas.NoTrans, alpha: 1, a: integers(m, k, 0, 1),
		b: integers(k, n, 0, 2), c: integers(m, n, 0, 3)}
}

// TestVariants computes a product by every variant, from several goroutines at the same time.
func TestVariants(t *testing.T) {
	for _, d := range described() {
		t.Run(d.Name, func(t *testing.T) {
			if !d.Available || d.Reason != "" || d.Doc == "" ||
				!strings.HasPrefix(strings.Join(d.Types, " "), "f64 f32") {
				t.Errorf("is described as %+v", d)
			}
			threads := 1
			if d.Threads {
				threads = 2
			}
			var group sync.WaitGroup
			for g := range 8 {
				group.Go(func() {
					p := plain(20+g, 31, 17)
					err := doubles.compute(d.Name, threads, 0, &p)
					if err := cmp.Or(err, gemmtest.Exactly(p.c, p.a, p.b)); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			p := plain(4, 4, 4)
			p.alpha = 2
			err := doubles.compute(d.Name, 0, 0, &p)
			if errors.Is(err, gemm.ErrVariant) == d.Gemm || d.Gemm && err != nil {
				t.Errorf("with alpha = 2: error %v", err)
			}
		})
	}
}

func TestStandardThreads(t *testing.T) {
	for variant, want := range map[string]string{"parallel/packed": "threads=3", "serial/packed": ""} {
		m, err := new(multipliers[float64]).add(variant, 0, 3)
		if err != nil || m.params.String() != want {
			t.Errorf("%s has the parameters %v, want %s; error %v", variant, m.params, want, err)
		}
	}
}

// TestMostThreads compares the limit in gemm.h with the one of the variants.
func TestMostThreads(t *testing.T) {
	header, err := os.ReadFile("gemm.h")
	gemmtest.Must(t, err)
	match := regexp.MustCompile(`#define GEMM_MAX_THREADS (\d+)`).FindSubmatch(header)
	if match == nil {
		t.Fatal("gemm.h has no GEMM_MAX_THREADS")
	}
	for _, v := range variants() {
		for _, q := range v.Params {
			if q.Name == "threads" && strconv.Itoa(q.Max) != string(match[1]) {
				t.Errorf("%s has at most %d threads, gemm.h says %s", v.Name, q.Max, match[1])
			}
		}
	}
}

func TestGranted(t *testing.T) {
	for quota, want := range map[float64]int{0.5: 2, 2: 2, 2.1: 3, 64: 8} {
		if got := granted(8, quota); got != want {
			t.Errorf("%v of 8 processors: %d threads, want %d", quota, got, want)
		}
	}
	if got := granted(1, 4); got != 1 {
		t.Errorf("1 processor: %d threads", got)
	}
}
