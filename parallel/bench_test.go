package parallel

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"gemm"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/pool"
)

// benchWorkers are the numbers of workers that benchmarks have: one, as many as there
// are processors, and twice that.
func benchWorkers() []int {
	return slices.Compact([]int{1, runtime.GOMAXPROCS(0), 2 * runtime.GOMAXPROCS(0)})
}

// BenchmarkMerge adds private copies of C, one a worker.
func BenchmarkMerge(b *testing.B) {
	const order = 512
	for _, workers := range benchWorkers() {
		c, copies := gemm.NewMatrix[float64](order, order), make([]gemm.Matrix[float64], workers)
		for w := range copies {
			copies[w] = gemm.NewMatrix[float64](order, order)
		}
		pool := pool.New(workers)
		b.Run(fmt.Sprintf("atomic/workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				gemmtest.Must(b, MergeAtomic(b.Context(), pool, c, copies))
			}
			perUnit(b, order*order, "ns/element")
		})
		b.Run(fmt.Sprintf("reduce/workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				gemmtest.Must(b, MergeReduce(b.Context(), pool, c, copies))
			}
			perUnit(b, order*order, "ns/element")
		})
	}
}

// BenchmarkShards computes parity shards of 64 KiB with serial/packed and with parallel/packed on
// two workers, interleaved. It reports both medians in µs, and the median ratio of neighbouring
// samples. A turn takes about a millisecond: a hypervisor takes an idle virtual processor away
// after longer, and may give it back on another core.
func BenchmarkShards(b *testing.B) {
	const shard, cold, turn = 64 << 10, 5, 25
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("two workers need two processors")
	}
	for _, code := range [][2]int{{8, 8}, {10, 4}, {16, 16}, {17, 3}, {50, 20}, {128, 32}} {
		k, m := code[0], code[1]
		b.Run(fmt.Sprintf("%d+%d", k, m), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			drawn := func(rows, cols int) gemm.Matrix[gf256.Elem] {
				x := gemm.NewMatrix[gf256.Elem](rows, cols)
				for i := range x.Data {
					x.Data[i] = gf256.New(uint8(rng.Uint32()))
				}
				return x
			}
			x, y := drawn(m, k), drawn(k, shard)
			var parity [2]gemm.Matrix[gf256.Elem]
			var by [2]gemm.Multiplier[gf256.Elem]
			var took [2][]float64 // µs
			for i, v := range []gemm.Variant{localVariant(gemm.Params{"local": "serial/packed"}), packedVariant()} {
				p := gemm.Params{}
				if i == 1 {
					p["threads"] = 2
				}
				var err error
				if by[i], err = gemm.New[gf256.Elem](v, p); err != nil {
					b.Fatal(err)
				}
				parity[i] = gemm.NewMatrix[gf256.Elem](m, shard)
			}
			median := func(x []float64) float64 {
				x = slices.Sorted(slices.Values(x))
				return x[len(x)/2]
			}
			var ratios []float64
			for b.Loop() {
				var now [2][]float64
				for i := range by {
					for call := range cold + turn {
						begin := time.Now()
						gemmtest.Must(b, by[i].Multiply(b.Context(), parity[i], x, y))
						if call >= cold {
							now[i] = append(now[i], float64(time.Since(begin).Nanoseconds())/1e3)
						}
					}
					took[i] = append(took[i], now[i]...)
				}
				ratios = append(ratios, median(now[0])/median(now[1]))
			}
			if !slices.Equal(parity[0].Data, parity[1].Data) {
				b.Fatal("the parities differ")
			}
			b.ReportMetric(median(took[0]), "µs/one")
			b.ReportMetric(median(took[1]), "µs/two")
			b.ReportMetric(median(ratios), "one/two")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// perUnit reports the time of one of the units that an operation has.
func perUnit(b *testing.B, units int, name string) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(units), name)
}
