package explain

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// launched is a line of the profiler's table.
type launched struct{ kernel, bytes string }

// tableOf returns the profiler's table of the launches, with bytes in the unit.
func tableOf(unit string, launches ...launched) string {
	var b strings.Builder
	b.WriteString(`"ID","Kernel Name","Grid Size","CC","dram__bytes_read.sum","gpu__time_duration.sum","smsp__inst_executed.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed"` + "\n")
	fmt.Fprintf(&b, `"","","","",%q,"ns","inst","%%"`+"\n", unit)
	for i, l := range launches {
		fmt.Fprintf(&b, `"%d",%q,"(8, 8, 1)","9.0",%q,"100","n/a","97.5"`+"\n", i, l.kernel, l.bytes)
	}
	return b.String()
}

// ofTable are the counters of a launch in tableOf.
func ofTable(bytes float64) map[string]float64 {
	return map[string]float64{"dram__bytes_read.sum": bytes, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 97.5}
}

func TestParseCounters(t *testing.T) {
	for _, test := range []struct {
		log  string
		want map[string]float64
		err  string
	}{
		{tableOf("byte", launched{"gemm", "1"}, launched{"gemm", "2,048"}, launched{"reduce", "3"}), ofTable(2048), ""},
		{tableOf("byte", launched{"gemm(int, int)", "5"}, launched{"align(int, int)", "6"}, launched{"transpose", "7"},
			launched{"pack_a", "8"}, launched{"pack_b", "9"}, launched{"peak", "10"}), ofTable(5), ""},
		{"==PROF== Profiling\n\n" + tableOf("byte",
			launched{"void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(T1::Params)",
				"1.5"}) + "==PROF== Disconnected\n", ofTable(1.5), ""},
		{tableOf("byte", launched{"nvjet_sss", "(!) n/a"}),
			map[string]float64{"sm__throughput.avg.pct_of_peak_sustained_elapsed": 97.5}, ""},
		{tableOf("byte", launched{"gemm", "nan"}),
			map[string]float64{"sm__throughput.avg.pct_of_peak_sustained_elapsed": 97.5}, ""},
		{strings.ReplaceAll(tableOf("byte", launched{"gemm", ""}), "97.5", "-inf"), nil, "none of the counters"},
		{tableOf("byte", launched{"gemm", "many"}), nil, `"many" for dram__bytes_read.sum`},
		{tableOf("byte", launched{"reduce", "1"}), nil, "no kernel that multiplies"},
		{tableOf("byte"), nil, "no kernel that multiplies"},
		{strings.Replace(tableOf("byte", launched{"gemm", "1"}), "Kernel Name", "Name", 1), nil, "no column Kernel Name"},
		{strings.TrimSuffix(tableOf("byte", launched{"gemm", "1"}), `,"97.5"`+"\n"), nil, "is broken"},
		{strings.TrimSuffix(tableOf("byte", launched{"gemm", "1"}), `5"`+"\n"), nil, "is broken"},
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
