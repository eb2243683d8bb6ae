package explain

import (
	"maps"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda"
	"gemm/gemmtest/cudatest"
)

// TestParseCounters wants the counters of the launch after the mark that has the most instructions.
func TestParseCounters(t *testing.T) {
	marked := cudatest.Launch{cuda.Mark("cuda/x", "f32", gemm.Cube(8)), "0"}
	one := cudatest.ProfilerTable("byte", marked, cudatest.Launch{"gemm", "1"})
	for _, test := range []struct {
		log  string
		want Values
		err  string
	}{
		{cudatest.ProfilerTable("byte", marked, cudatest.Launch{"gemm", "1"}, cudatest.Launch{"gemm", "2,048"},
			cudatest.Launch{"align", "3"}), cudatest.TableCounters(2048), ""},
		{cudatest.ProfilerTable("byte", marked, cudatest.Launch{"gemm(int, int)", "5"},
			cudatest.Launch{"align(int, int)", "6"}, cudatest.Launch{"transpose", "7"},
			cudatest.Launch{"pack_a", "8"}, cudatest.Launch{"pack_b", "9"}, cudatest.Launch{"to_tf32", "10"},
			cudatest.Launch{"split_a", "11"}, cudatest.Launch{"split_b", "12"}, cudatest.Launch{"peak", "13"}),
			cudatest.TableCounters(5), ""},
		{"==PROF== Profiling\n\n" + cudatest.ProfilerTable("byte", marked,
			cudatest.Launch{"void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(T1::Params)",
				"1.5"}) + "==PROF== Disconnected\n", cudatest.TableCounters(1.5), ""},
		{cudatest.ProfilerTable("byte", marked, cudatest.Launch{"nvjet_sss", "(!) n/a"}),
			Values{"sm__throughput.avg.pct_of_peak_sustained_elapsed": 97.5}, ""},
		{cudatest.ProfilerTable("byte", marked, cudatest.Launch{"gemm", "nan"}),
			Values{"sm__throughput.avg.pct_of_peak_sustained_elapsed": 97.5}, ""},
		{strings.ReplaceAll(cudatest.ProfilerTable("byte", marked, cudatest.Launch{"gemm", ""}), "97.5", "-inf"), nil,
			"none of the counters"},
		{cudatest.ProfilerTable("byte", marked, cudatest.Launch{"gemm", "many"}), nil,
			`"many" for dram__bytes_read.sum`},
		{cudatest.ProfilerTable("byte", marked, cudatest.Launch{"align", "1"}), nil, ""},
		{cudatest.ProfilerTable("byte", cudatest.Launch{"gemm", "1"}), nil, ""},
		{cudatest.ProfilerTable("byte", marked, cudatest.Launch{"gemm", "5"}, cudatest.Launch{"mark_f32_other", "0"},
			cudatest.Launch{"gemm", "6"}), cudatest.TableCounters(5), ""},
		{strings.Replace(one, "Kernel Name", "Name", 1), nil, "no column Kernel Name"},
		{strings.TrimSuffix(one, `,"97.5"`+"\n"), nil, "is broken"},
		{strings.TrimSuffix(one, `5"`+"\n"), nil, "is broken"},
		{strings.Replace(strings.Replace(strings.Replace(cudatest.ProfilerTable("byte", marked, cudatest.Launch{"gemm",
			"7"}, cudatest.Launch{"gemm", "2"}), "n/a", "0", 1), "n/a", "1,500", 1), "n/a", "40", 1), // a fallback, too
			Values{"dram__bytes_read.sum": 7, executed: 1500,
				"sm__throughput.avg.pct_of_peak_sustained_elapsed": 97.5}, ""},
		{"==PROF== Connected\n==WARNING== No kernels were profiled.\n", nil, "wrote no table"},
		{"", nil, "wrote no table"},
	} {
		all, err := parseCounters(test.log)
		got := all[marked[0]]
		if test.err == "" && (err != nil || !maps.Equal(got, test.want)) ||
			test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s\nare %v, %v; want %v, %s", test.log, got, err, test.want, test.err)
		}
	}
}
