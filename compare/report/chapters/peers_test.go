package chapters_test

import (
	"fmt"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
)

// contender is a row of a turn with libraries: m×n×k on threads with the given GFLOP/s.
func contender(variant string, m, n, k, threads int, gflops float64, change ...func(*record.Record)) record.Record {
	return row(variant, n, 2*float64(m)*float64(n)*float64(k)/gflops/1e9, append([]func(*record.Record){
		func(r *record.Record) {
			r.M, r.K, r.LDA, r.Threads, r.Gflops = m, k, k, threads, record.Number(gflops)
			r.Turn = fmt.Sprintf("peers %dx%dx%d", m, n, k)
			if analysis.Foreign(variant) {
				r.Resolved = gemm.Params{"version": "1.2", "kernel": "wide"}
			}
		}}, change...)...)
}

// comparedWithLibraries are a small cube, two larger ones and a skinny shape on one thread, and a cube on two.
func comparedWithLibraries(changes map[string]change) record.Document {
	rows := []record.Record{
		contender("serial/packed", 2, 2, 2, 1, 0.5), contender("reference/openblas", 2, 2, 2, 1, 1),
		contender("serial/packed", 64, 64, 64, 1, 36), contender("reference/openblas", 64, 64, 64, 1, 30),
		contender("serial/packed", 512, 512, 512, 1, 36), contender("reference/openblas", 512, 512, 512, 1, 30),
		contender("reference/mkl", 512, 512, 512, 1, 18),
		contender("serial/strassen", 512, 512, 512, 1, 99, inTurn("")),
		contender("serial/packed", 16, 4096, 4096, 1, 20), contender("reference/openblas", 16, 4096, 4096, 1, 20.001),
		contender("parallel/packed", 512, 512, 512, 2, 69), contender("reference/mkl", 512, 512, 512, 2, 23),
	}
	for i, r := range rows {
		if f := changes[fmt.Sprint(r.Variant, " ", r.N, " ", r.Threads)]; f != nil {
			f(&rows[i])
		}
	}
	return planted(rows...)
}

func TestPeers(t *testing.T) {
	one := func(variant string, n int, rate float64) change {
		return func(r *record.Record) { *r = contender(variant, n, n, n, 1, rate) }
	}
	resumed := func(r *record.Record) { r.Turn += ", part 2" }
	for _, test := range []struct {
		change map[string]change
		want   []string
		not    string
	}{
		{nil, []string{"`serial/packed` on one thread and `parallel/packed` on several",
			"| `reference/openblas` | 1.2 | wide |", "| square | f64 | 1 | 2 | 1.20 ±0.0 | 2.00 ±0.1 \\[1\\] |",
			"| small | f64 | 1 | 1 | 0.500 ±0.1 | — |", "| square | f64 | 2 | 1 | — | 3.00 ±0.1 |",
			"(figures/square-f64-1.svg)", "(figures/small-f64-1.svg)", "Of 5 cases (shape, type and threads), the " +
				"fastest library is clearly ahead in 1 (p < 0.01), and ahead within the noise in 1.",
			"| small | f64 | 1 | n = 2 | n = 2 | `openblas` | 0.500 (0.500) |"}, "strassen; different times"},
		{map[string]change{"reference/openblas 512 1": one("reference/openblas", 512, 40),
			"reference/openblas 64 1": one("reference/openblas", 64, 37)}, []string{
			"| square | f64 | 1 | n = 64, 512 | n = 512 | `openblas` | 0.900 (0.899–0.901) |",
			"is clearly ahead in 3"}, "ahead in 1"},
		{map[string]change{"serial/packed 512 1": status(record.Wrong, "one element")},
			[]string{"| square | f64 | 1 | 2 | 1.20 ±0.1 \\[1\\] | — |", "Of 4 cases"}, "2.00 ±"},
		{map[string]change{"reference/mkl 512 1": status(record.Unavailable, "no MKL"),
			"reference/mkl 512 2": status(record.Unavailable, "no MKL")}, []string{"| Shapes | openblas |"}, "mkl"},
		{map[string]change{"reference/mkl 512 2": resumed, "reference/openblas 2 1": resumed}, []string{
			"interleaved (A B A B …), but in 2 cases ours and a library were measured at different times. A ratio",
			"| square | f64 | 2 | 1 | — | 3.00 |", "ahead in none, and ahead within the noise in 2."}, "| 0.500 ±"},
		{map[string]change{"reference/mkl 512 1": one("user/mine", 512, 18)},
			[]string{"| openblas | mkl | user/mine |"}, "were limited"},
	} {
		said{"peers", comparedWithLibraries(test.change), test.want, strings.Split(test.not, "; ")}.check(t)
	}
	held := comparedWithLibraries(nil)
	held.Hosts[0].Held = true
	has(t, fill(t, "en", held), "All contenders were limited to the instruction set `avx2`")
	hasNot(t, fill(t, "en", with(row("reference/mkl", 64, 1))), "{#peers}")
}
