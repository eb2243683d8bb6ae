package userkernel

import (
	"encoding/json"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
)

var odd = gemm.Shape{M: 1000, N: 300, K: 77}

// TestAt computes launches of a product of 1000×300×77.
func TestAt(t *testing.T) {
	for _, test := range []struct {
		launch      Launch
		grid, block [3]int
	}{
		{Launch{}, [3]int{10, 32, 1}, [3]int{32, 32, 1}},
		{Launch{Block: "16,8"}, [3]int{19, 125, 1}, [3]int{16, 8, 1}},
		{Launch{Block: "256"}, [3]int{2, 1000, 1}, [3]int{256, 1, 1}},
		{Launch{Block: "8x8x4", Grid: "(M+31)/32, (N+31)/32, K/7"}, [3]int{32, 10, 11}, [3]int{8, 8, 4}},
		{Launch{Grid: "2*(M-N)%11*3 x 1+2*3"}, [3]int{9, 7, 1}, [3]int{32, 32, 1}},
		{Launch{Grid: "((M))/(N/(K-70))"}, [3]int{23, 1, 1}, [3]int{32, 32, 1}},
	} {
		got, err := test.launch.At(odd)
		if err != nil || got.Grid != test.grid || got.Block != test.block {
			t.Errorf("%+v: %v, %v, want grid %v of %v", test.launch, got, err, test.grid, test.block)
		}
	}
}

// TestBadLaunches checks that each error names the flag and what is wrong with its value.
func TestBadLaunches(t *testing.T) {
	for _, test := range []struct {
		launch Launch
		want   string
	}{
		{Launch{Block: "2048"}, "--block-dims: blocks are 2048x1x1, and x must be 1 to 1024"},
		{Launch{Block: "1,1,65"}, "z must be 1 to 64"},
		{Launch{Block: "0"}, "x must be 1 to 1024"},
		{Launch{Grid: "1,65536"},
			"--grid: the grid is 1x65536x1 for a product of 1000x300x77, and y must be 1 to 65535"},
		{Launch{Grid: "N-M"}, "x must be 1 to 2147483647"},
		{Launch{Grid: "M/(N-300)"}, `--grid "M/(N-300)" divides by zero for a product of 1000x300x77`},
		{Launch{Grid: "M%(N-300)"}, "divides by zero"},
		{Launch{Grid: "M*2147483647"},
			"is 2147483647000 for a product of 1000x300x77, which is larger than 2147483647"},
		{Launch{Grid: "M*2147483647*2147483647"}, "is 4611686014132420609000 for"},
		{Launch{Grid: "1,2,3,4"}, `"1,2,3,4" has 4 dimensions`},
		{Launch{Grid: "(M+31"}, "is no expression"},
		{Launch{Grid: "M+"}, "is no expression"},
		{Launch{Grid: ""}, ""},
		{Launch{Grid: "32x"}, `"32x": "" is no expression`},
		{Launch{Grid: " "}, "is no expression"},
		{Launch{Grid: "m"}, `"m" has more than M, N, K, integers`},
		{Launch{Grid: "-1"}, `"-1" has more than`},
		{Launch{Grid: "4294967296"}, "is 4294967296 for"},
		{Launch{Grid: "MM"}, `"MM" has more than`},
		{Launch{Grid: "1)+(2"}, "is no expression"},
		{Launch{Grid: "1)(2"}, "is no expression"},
		{Launch{Grid: "M<<2"}, "has more than"},
		{Launch{Grid: "1.5"}, "has more than"},
	} {
		_, err := test.launch.At(odd)
		if test.want == "" && err != nil || test.want != "" &&
			(err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: %v, want %q", test.launch, err, test.want)
		}
	}
	if _, err := ParseDims("32y32"); err == nil ||
		!strings.Contains(err.Error(), `"32y32": "32y32" is no expression`) {
		t.Errorf("32y32: %v", err)
	}
}

// TestTravels checks that a kernel is the same after it has travelled, and that its launch is read
// again there.
func TestTravels(t *testing.T) {
	k := Kernel{Name: "user/f", Source: "x", Symbol: "f", Type: "f32", Launch: Launch{Grid: "(N+31)/32,M", Shared: 5}}
	data, err := json.Marshal(k)
	var back Kernel
	if err != nil || json.Unmarshal(data, &back) != nil || back != k {
		t.Errorf("%s, %v: %+v, want %+v", data, err, back, k)
	}
	if err := json.Unmarshal([]byte(`{"grid":"rm -rf"}`), &back); err == nil {
		t.Error("a grid that is no expression has been read")
	}
}

func TestCheck(t *testing.T) {
	limits := Limits{Threads: 1024, Kernel: 512, Shared: 1000, Static: 600}
	for _, test := range []struct {
		launch Launch
		want   string
	}{
		{Launch{Block: "64x32"}, "--block-dims: a block of 64x32x1 has 2048 threads, the GPU permits 1024"},
		{Launch{}, "has 1024 threads, the kernel's registers or its __launch_bounds__ permit 512"},
		{Launch{Block: "512", Shared: 401},
			"--smem: a block has 600 bytes of shared memory and requests 401, the GPU permits 1000"},
		{Launch{Block: "512", Shared: 400}, ""},
	} {
		size, err := test.launch.At(odd)
		gemmtest.Must(t, err)
		err = test.launch.Check(size, limits)
		if test.want == "" && err != nil || test.want != "" &&
			(err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: %v, want %q", test.launch, err, test.want)
		}
	}
}
