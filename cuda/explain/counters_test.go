package explain

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/userkernel"
	"gemm/gemmtest/cudatest"
)

func TestParseCounters(t *testing.T) {
	for _, test := range []struct {
		log  string
		want map[string]float64
		err  string
	}{
		{cudatest.ProfilerTable("byte", cudatest.Launch{"gemm", "1"}, cudatest.Launch{"gemm", "2,048"},
			cudatest.Launch{"align", "3"}), cudatest.TableCounters(2048), ""},
		{cudatest.ProfilerTable("byte", cudatest.Launch{"gemm(int, int)", "5"}, cudatest.Launch{"align(int, int)", "6"},
			cudatest.Launch{"transpose", "7"},
			cudatest.Launch{"pack_a", "8"}, cudatest.Launch{"pack_b", "9"}, cudatest.Launch{"to_tf32", "10"},
			cudatest.Launch{"split_a", "11"}, cudatest.Launch{"split_b", "12"}, cudatest.Launch{"peak", "13"}),
			cudatest.TableCounters(5), ""},
		{"==PROF== Profiling\n\n" + cudatest.ProfilerTable("byte",
			cudatest.Launch{"void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(T1::Params)",
				"1.5"}) + "==PROF== Disconnected\n", cudatest.TableCounters(1.5), ""},
		{cudatest.ProfilerTable("byte", cudatest.Launch{"nvjet_sss", "(!) n/a"}),
			map[string]float64{"sm__throughput.avg.pct_of_peak_sustained_elapsed": 97.5}, ""},
		{cudatest.ProfilerTable("byte", cudatest.Launch{"gemm", "nan"}),
			map[string]float64{"sm__throughput.avg.pct_of_peak_sustained_elapsed": 97.5}, ""},
		{strings.ReplaceAll(cudatest.ProfilerTable("byte", cudatest.Launch{"gemm", ""}), "97.5", "-inf"), nil,
			"none of the counters"},
		{cudatest.ProfilerTable("byte", cudatest.Launch{"gemm", "many"}), nil, `"many" for dram__bytes_read.sum`},
		{cudatest.ProfilerTable("byte", cudatest.Launch{"align", "1"}), nil, "no kernel that multiplies"},
		{cudatest.ProfilerTable("byte"), nil, "no kernel that multiplies"},
		{strings.Replace(cudatest.ProfilerTable("byte", cudatest.Launch{"gemm", "1"}), "Kernel Name", "Name", 1), nil,
			"no column Kernel Name"},
		{strings.TrimSuffix(cudatest.ProfilerTable("byte", cudatest.Launch{"gemm", "1"}), `,"97.5"`+"\n"), nil, "is broken"},
		{strings.TrimSuffix(cudatest.ProfilerTable("byte", cudatest.Launch{"gemm", "1"}), `5"`+"\n"), nil, "is broken"},
		{strings.Replace(strings.Replace(cudatest.ProfilerTable("byte", cudatest.Launch{"gemm", "7"},
			cudatest.Launch{"gemm", "2"}), "n/a", "1,500", 1), "n/a", "40", 1), // and a fallback, which did nothing
			map[string]float64{"dram__bytes_read.sum": 7, executed: 1500,
				"sm__throughput.avg.pct_of_peak_sustained_elapsed": 97.5}, ""},
		{"==PROF== Connected\n==WARNING== No kernels were profiled.\n", nil, "wrote no table"},
		{"", nil, "wrote no table"},
	} {
		got, err := parseCounters(test.log)
		if test.err == "" && (err != nil || !maps.Equal(got, test.want)) ||
			test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s\nare %v, %v; want %v, %s", test.log, got, err, test.want, test.err)
		}
	}
}

// TestPattern checks that the profiler sees the kernel of a variant, and of the user's only that one.
func TestPattern(t *testing.T) {
	brought := userkernel.Variants(nil, []userkernel.Kernel{{Name: "user/x", Symbol: "smem"}})[0]
	for _, test := range []struct {
		variant gemm.Variant
		name    string
		want    bool
	}{
		{gemm.Variant{}, "gemm", true}, {gemm.Variant{}, "judge_draw", false}, {gemm.Variant{}, "smem", false},
		{brought, "smem", true}, {brought, "smem(int, int)", true}, {brought, "smem2", false}, {brought, "gemm", false},
	} {
		expression, ok := strings.CutPrefix(pattern(test.variant), "regex:")
		if got := regexp.MustCompile(expression).MatchString(test.name); !ok || got != test.want {
			t.Errorf("%s and %s: %v", expression, test.name, got)
		}
	}
}
