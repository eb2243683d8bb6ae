package chapters_test

import (
	"fmt"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
)

// mine is a row of a kernel of the user that was loaded as a source file.
func mine(variant string, n int, seconds float64, change ...func(*record.Record)) record.Record {
	return row(variant, n, seconds, append([]func(*record.Record){inTurn(fmt.Sprint("n ", n)),
		func(r *record.Record) {
			r.Resolved = gemm.Params{"file": "mine.c", "compiler": "gcc 12", "cflags": "-O3 -march=native", "abi": "square"}
		}}, change...)...)
}

// mineOnGPU makes a row of a kernel one of a GPU.
func mineOnGPU(r *record.Record) {
	r.Resolved = gemm.Params{"symbol": "mine", "grid_dims": "8x8x1", "block_dims": "16x16x1", "smem": 0}
	r.GPU = &record.Device{Pipe: r.Type}
}

// baselines are what kernels are compared with.
func baselines(more ...record.Record) record.Document {
	return planted(append([]record.Record{
		row("serial/naive", 64, 10e-3), row("serial/packed", 64, 1e-4),
		row("reference/openblas", 64, 9e-5, inTurn("n 64")),
		row("serial/naive", 128, 80e-3), row("serial/packed", 128, 1e-3),
		row("reference/openblas", 128, 9e-4, inTurn("n 128")),
		row("parallel/packed", 128, 5e-4, threadsOf(record.MainLadder, 2)),
	}, more...)...)
}

func TestKernels(t *testing.T) {
	var sizes []record.Record
	for i := range 20 {
		sizes = append(sizes, mine("user/mine", 31+32*i, 1e-3*float64(i+1)))
	}
	wrong := status(record.Wrong, "element (3, 5) was not written")
	for name, test := range map[string]said{
		"fast": {"kernels", baselines(mine("user/mine", 64, 5e-5), mine("user/mine", 128, 2e-4)), []string{
			"| `user/mine` | f64 | 1 thread | mine.c, gcc 12, -O3 -march=native, square | 2 / 2 | 39.3 |",
			"- `user/mine`, 1 thread, f64, n = 128: 21.0 GFLOP/s, 52.4 % of the peak; rank 1 of 4. Speed: 400 × " +
				"`serial/naive` (textbook loops), 5.00 × `serial/packed` (fastest variant of gemm), 4.50 (4.50) × " +
				"`reference/openblas` (fastest library).",
			"| n = 64 | 10.5 | 26.2 | 200 | 2.00 | 1.80 | 1 / 4 | | n = 128 | 21.0 | 52.4 | 400 | 5.00 | 4.50 | 1 / 4 |",
			"Every row of your kernels is correct."}, []string{"loops in C", "grid"}},
		"slow, with loops in C": {"kernels", baselines(mine("user/mine", 128, .16),
			mine("reference/c-ikj", 128, 3e-3)), []string{
			"rank 5 of 5. Speed: 0.500 × `serial/naive` (textbook loops), 0.0187 (0.0187–0.0188) × `reference/c-ikj` " +
				"(fastest loops in C), 0.00625 × `serial/packed`"}, []string{"| Size |"}},
		"wrong": {"kernels", baselines(mine("user/a", 64, 1, wrong), mine("user/a", 128, 1, wrong),
			mine("user/b", 64, 1, wrong), mine("user/late", 64, 1, status(record.Timeout, "took longer than 10s")),
			mine("user/ragged", 64, 1e-2), mine("user/ragged", 128, 1, status(record.Wrong, ""))), []string{
			"| `user/a` | f64 | 1 thread | mine.c, gcc 12, -O3 -march=native, square | 0 / 2 | — |",
			"| `user/a`, `user/b` | f64 | **wrong** | element (3, 5) was not written | 1.00e-16 | 1.00e-14 | n = 64, 128 |",
			"| `user/late` | f64 | timed out | took longer than 10s | — | — | n = 64 |",
			"| `user/ragged` | f64 | **wrong** | — | 1.00e-16 | 1.00e-14 | n = 128 |",
			"- `user/ragged`, 1 thread, f64, n = 64: 0.0524 GFLOP/s"}, []string{"is correct", "- `user/a`"}},
		"alone": {"kernels", planted(mine("user/mine", 64, 1e-3)), []string{"rank 1 of 1."}, []string{"Speed:"}},
		"at many sizes": {"kernels", baselines(sizes...), []string{"n = 639: ", "| 20 / 20 |", "| n = 31 |", "| n = 639 |",
			"12 of 20 sizes"}, []string{"| n = 95 |"}},
		"on threads": {"kernels", baselines(mine("user/mine", 128, 2e-4, threadsOf(record.StrongScaling, 2))), []string{
			"- `user/mine`, 2 threads, f64, n = 128", "2.50 × `parallel/packed`"}, nil},
		"in f32": {"kernels", baselines(mine("user/mine", 128, 2e-4, reporttest.Single)),
			[]string{"1 thread, f32, n = 128"}, nil},
		"on a GPU": {"kernels", baselines(mine("cuda/naive", 128, 4e-5, mineOnGPU), mine("cuda/cublas", 128, 8e-6, mineOnGPU),
			mine("user/mine", 128, 2e-5, mineOnGPU, copied(1, 1, 0))), []string{
			"| `user/mine` | f64 | GPU | mine, 8x8x1, 16x16x1, 0 | 1 / 1 |", "GPU, f64, n = 128: 210 GFLOP/s",
			"rank 2 of 3. Speed: 2.00 (2.00) × `cuda/naive` (textbook loops), 0.400 (0.400) × `cuda/cublas`"},
			[]string{"mine.c"}},
	} {
		t.Run(name, test.check)
	}
	hasNot(t, fill(t, "en", baselines()), "{#kernels}")
}
