package cpu

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/cpuid/v2"
)

func TestSupported(t *testing.T) {
	avx2 := []cpuid.FeatureID{cpuid.SSSE3, cpuid.AVX2, cpuid.FMA3, cpuid.F16C}
	wide := append([]cpuid.FeatureID{cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL}, avx2...)
	tests := map[string]struct {
		has  []cpuid.FeatureID
		want []ISA
	}{
		"none":                 {nil, []ISA{Generic}},
		"SSSE3":                {[]cpuid.FeatureID{cpuid.SSSE3}, []ISA{SSSE3, Generic}},
		"AVX2 without FMA":     {[]cpuid.FeatureID{cpuid.SSSE3, cpuid.AVX2}, []ISA{SSSE3, Generic}},
		"AVX2":                 {avx2, []ISA{AVX2NoGFNI, SSSE3, Generic}},
		"AVX2 and GFNI":        {append([]cpuid.FeatureID{cpuid.GFNI}, avx2...), []ISA{AVX2, AVX2NoGFNI, SSSE3, Generic}},
		"AVX-512 without GFNI": {wide, []ISA{AVX512, AVX2NoGFNI, SSSE3, Generic}},
		"AVX-512 foundation":   {append([]cpuid.FeatureID{cpuid.AVX512F}, avx2...), []ISA{AVX2NoGFNI, SSSE3, Generic}},
		"everything": {append([]cpuid.FeatureID{cpuid.GFNI}, wide...),
			[]ISA{AVX512, AVX2, AVX2NoGFNI, SSSE3, Generic}},
		"GFNI of SSE and SSSE3": {[]cpuid.FeatureID{cpuid.SSSE3, cpuid.GFNI}, []ISA{SSSE3, Generic}},
	}
	for name, test := range tests {
		got := supported(func(ids ...cpuid.FeatureID) bool {
			for _, id := range ids {
				if !slices.Contains(test.has, id) {
					return false
				}
			}
			return true
		})
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestChoose(t *testing.T) {
	old := []ISA{AVX512, AVX2NoGFNI, SSSE3, Generic}
	for value, want := range map[string]ISA{"": AVX512, "avx512": AVX512, "avx2-nogfni": AVX2NoGFNI, "generic": Generic} {
		if got, err := choose(value, old); got != want || err != nil {
			t.Errorf("choose(%q) = %q, %v; want %q", value, got, err, want)
		}
	}
	for value, want := range map[string]string{
		"avx2":    "this processor lacks it, for want of GFNI; it has avx512, avx2-nogfni, ssse3, generic",
		"AVX512":  `no such instruction set; this processor has avx512, avx2-nogfni, ssse3, generic`,
		"avx512 ": `no such instruction set; this processor has avx512, avx2-nogfni, ssse3, generic`,
	} {
		if got, err := choose(value, old); err == nil || err.Error() != want {
			t.Errorf("choose(%q) = %q, %v; want the error %s", value, got, err, want)
		}
	}
}

// TestHold holds to each set that the processor has, and to some that it cannot be held to.
func TestHold(t *testing.T) {
	t.Cleanup(func() { held = "" })
	t.Setenv("GEMM_CPU", "")
	all := Supported()
	if isa, narrowed := Held(); isa != "" || narrowed {
		t.Errorf("without Hold, %s is held, narrowed %t", isa, narrowed)
	}
	for i, isa := range all {
		if err := Hold(isa); err != nil {
			t.Fatal(err)
		}
		got, err := Detect()
		was, narrowed := Held()
		if got != isa || err != nil || was != isa || narrowed != (i > 0) || !slices.Equal(Supported(), all[i:]) {
			t.Errorf("held to %s: %s, %v; held %s, narrowed %t, %v", isa, got, err, was, narrowed, Supported())
		}
	}
	const unknown = "no such instruction set; this processor has "
	if err := Hold("avx3"); err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("held to avx3: %v", err)
	}
	t.Setenv("GEMM_CPU", "ssse3")
	if err := Hold(Generic); err == nil || err.Error() != "GEMM_CPU=ssse3 is another instruction set: unset it" {
		t.Errorf("held to generic with GEMM_CPU=ssse3: %v", err)
	}
}

// TestDetect sets GEMM_CPU for a child that prints what Detect returns.
func TestDetect(t *testing.T) {
	if os.Getenv("CPU_TEST_CHILD") != "" {
		isa, err := Detect()
		fmt.Println("uses", isa, err)
		os.Exit(0)
	}
	child := func(value string) (string, error) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDetect$")
		cmd.Env = append(os.Environ(), "CPU_TEST_CHILD=1", "GORACE=atexit_sleep_ms=0", "GEMM_CPU="+value)
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	for _, isa := range append(Supported(), "") {
		want := isa
		if isa == "" {
			want = Supported()[0]
		}
		if got, err := child(string(isa)); got != fmt.Sprintln("uses", want, nil) || err != nil {
			t.Errorf("GEMM_CPU=%s: prints %q, %v; want %s", isa, got, err, want)
		}
	}
	if got, err := child("avx3"); !strings.Contains(got, `GEMM_CPU="avx3"`) || err != nil {
		t.Errorf("GEMM_CPU=avx3: prints %q, %v; want an error that names it", got, err)
	}
}

func TestFullWidthAVX512(t *testing.T) {
	wide := []ISA{AVX512, AVX2, Generic}
	for _, test := range []struct {
		sets   []ISA
		vendor cpuid.Vendor
		family int
		want   bool
	}{
		{wide, cpuid.Intel, 6, true},
		{wide, cpuid.AMD, 0x19, false},
		{wide, cpuid.AMD, 0x1a, true},
		{wide[1:], cpuid.Intel, 6, false},
	} {
		if got := fullWidth(test.sets, test.vendor, test.family); got != test.want {
			t.Errorf("%v of %v family %#x: %v, want %v", test.sets, test.vendor, test.family, got, test.want)
		}
	}
	if FullWidthAVX512() && Supported()[0] != AVX512 {
		t.Errorf("full width of an instruction set that is not among %v", Supported())
	}
}
