package chapters_test

import (
	"strings"
	"testing"

	"gemm/compare/record"
	"gemm/compare/report/chapters"
)

func withClaims(d *chapters.Data) { d.Claims = true }

// scheduled returns rows of a kernel under two schedules on four threads at three sizes; static takes the given times
// as long as dynamic.
func scheduled(kernel string, ratio float64) []record.Record {
	var rows []record.Record
	for _, n := range []int{128, 256, 512} {
		rows = append(rows, row(kernel, n, ratio*1e-3, threadsOf(record.StrongScaling, 4, "schedule", "static"), turn),
			row(kernel, n, 1e-3, threadsOf(record.StrongScaling, 4, "schedule", "dynamic"), turn))
	}
	return rows
}

// TestClaims checks the table of claims: one that the rows support, reversed by flipped rows, and those without cases.
func TestClaims(t *testing.T) {
	const kernel = "reference/openmp-collapse"
	supported := many(scheduled(kernel, 1.1)...)
	if text := fill(t, "en", supported); strings.Contains(text, "{#claims}") {
		t.Error("claims are judged without a request")
	}
	en := section(t, fill(t, "en", supported, withClaims), "claims")
	has(t, en, "Within 5 % of 1", "up to 1.25 times",
		"static is slightly slower than dynamic. | figure 23 | **supported** | 1.10 (1.10): n = 128, 4 threads (3/3) |",
		"static is slightly faster than dynamic. | 2.3.1, p. 24 | **reversed** | 0.909 (0.909–0.910): n = 128, "+
			"4 threads (3/3)",
		"static and dynamic take the same time. | figure 23 | **not supported** | 1.10 (1.10): n = 128, 4 threads, "+
			"`schedule static / dynamic` (3/3) |",
		"*The chunk size does not change the time.* | *figures 21 and 22* | *not measured* | — |",
		"- `gemm compare --profile figures --families parallel,reference`",
		"- `gemm compare --profile figures --families mpi`", "- `gemm cuda --type f32 --variants cuda/coalesced,")
	hasNot(t, en, "no host", "NaN", "Over MPI")
	flipped := section(t, fill(t, "en", many(scheduled(kernel, 1/1.1)...), withClaims), "claims")
	has(t, flipped, "static is slightly slower than dynamic. | figure 23 | **reversed** | 0.909 (0.909–0.910): "+
		"n = 128, 4 threads (3/3)", "static is slightly faster than dynamic. | 2.3.1, p. 24 | **supported** |")
	other := section(t, fill(t, "en", many(scheduled("reference/c-naive", 1.1)...), withClaims), "claims")
	has(t, other, "static is slightly slower than dynamic.* | *figure 23* | *not measured* | — |")

	wide := many(append(scheduled(kernel, 1.1)[:4], scheduled(kernel, 1.2)[4:]...)...)
	has(t, fill(t, "en", wide, withClaims), "| 1.10: n = 128, 4 threads; 1.20: n = 512, 4 threads (3/3) |")
	has(t, fill(t, "en", with(), withClaims), "{#claims}", "- `gemm compare --profile figures")
}

// TestClaimsOfHosts checks that a claim has a row for each host with cases, or says what the hosts lack.
func TestClaimsOfHosts(t *testing.T) {
	const kernel = "reference/openmp-collapse"
	small := many(scheduled(kernel, 1/1.1)...)
	small.Hosts[0].Cores = 2
	doc := joined(many(scheduled(kernel, 1.1)...), small)
	text := section(t, fill(t, "en", doc, withClaims), "claims")
	has(t, text, "If a row names no host: Test CPU", "slightly slower than dynamic. | figure 23 | **supported** |",
		"| *The chunk size does not")
	hasNot(t, text, "slightly slower than dynamic. | figure 23 | **reversed** |") // 4 threads are too many for h2
	has(t, section(t, fill(t, "en", small, withClaims), "claims"),
		"slightly slower than dynamic.* | *figure 23* | *not measured* | *4 processors needed* |")
}
