package cpu

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/cpuid/v2"
)

// TestSysctl describes Macs. The values of the M1 Pro are of github.com/Dr-Noob/cpufetch, issue 139; of the one with
// Intel's processor there are no levels of performance.
func TestSysctl(t *testing.T) {
	recorded, err := os.ReadFile("testdata/m1pro.sysctl")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]map[string]string{"m1pro": {}, "none": nil, "intel": {
		"machdep.cpu.brand_string": "Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz", "kern.osproductversion": "11.7",
		"hw.memsize": "17179869184", "hw.physicalcpu": "6", "hw.logicalcpu": "12", "hw.cachelinesize": "64",
		"hw.l1dcachesize": "32768", "hw.l2cachesize": "262144", "hw.l3cachesize": "12582912"}}
	for line := range strings.Lines(string(recorded)) {
		name, value, _ := strings.Cut(line, ":")
		values["m1pro"][name] = strings.TrimSpace(value)
	}
	for name, want := range map[string]struct {
		model, os, tree string
		memory          int64
		sockets         int
		caches          []Cache
		workers         int
	}{
		"m1pro": {"Apple M1 Pro", "macOS 12.2.1", `package 0: processors 0-9
  L2 12582912: processors 0-3
    4 performance cores, L1d 131072: processors 0-3
  L2 12582912: processors 4-7
    4 performance cores, L1d 131072: processors 4-7
  L2 4194304: processors 8-9
    2 efficiency cores, L1d 65536: processors 8-9
`, 16 << 30, 1, []Cache{{1, "data", 128 << 10, 128, 1}, {2, "unified", 12 << 20, 128, 4}}, 8},
		"intel": {"Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz", "macOS 11.7", `package 0: processors 0-11
  L3 12582912: processors 0-11
    6 cores of 2 processors, L2 262144, L1d 32768: processors 0-11
`, 16 << 30, 1, []Cache{{1, "data", 32 << 10, 64, 2}, {2, "unified", 256 << 10, 64, 2},
			{3, "unified", 12 << 20, 64, 12}}, 1 << 20},
		"none": {model: runtime.GOARCH, os: "macOS", workers: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			files := sysctlFiles(func(variable string) string { return values[name][variable] })
			f := facts(files, 1, cpuid.CPUInfo{})
			system, _, _ := strings.Cut(f.OS, ",")
			if f.Model != want.model || system != want.os || f.Memory != want.memory || f.Sockets != want.sockets ||
				!slices.Equal(f.Caches, want.caches) {
				t.Errorf("the facts are %+v, want %+v", f, want)
			}
			var tree strings.Builder
			if top := topology(files, nil); top != nil {
				top.Write(&tree, func(n float64) string { return fmt.Sprint(int(n)) })
			}
			if tree.String() != want.tree {
				t.Errorf("the topology is\n%s, want\n%s", tree.String(), want.tree)
			}
			if got := fastProcessors(kinds(files), nil); min(got, 1<<20) != want.workers {
				t.Errorf("%d workers, want %d", got, want.workers)
			}
		})
	}
}

// TestCapacities has a processor of four large and four small cores, of which a process may use some.
func TestCapacities(t *testing.T) {
	tree := map[string]string{"sys/devices/system/cpu/online": "0-7"}
	for id := range 8 {
		tree[fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpu_capacity", id)] = []string{"530", "1024"}[id/4]
	}
	tree["sys/devices/system/cpu/cpu7/cpu_capacity"] = "960"
	got := kinds(files(tree))
	if !slices.Equal(got, []Kind{{"performance", "4-7"}, {"efficiency", "0-3"}}) {
		t.Errorf("kinds are %v", got)
	}
	for _, test := range []struct {
		allowed []int
		want    int
	}{{nil, 4}, {[]int{0, 1, 5}, 1}, {[]int{0, 1}, 2}} {
		if n := fastProcessors(got, test.allowed); n != test.want {
			t.Errorf("of %v, %d processors are fast, want %d", test.allowed, n, test.want)
		}
	}
}
