// Package cpu describes the processor that the program runs on: the vector instructions that it may
// use, and the facts about the host for a report.
package cpu

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/cpuid/v2"
)

// ISA is an instruction set of kernels. GEMM_CPU and records have these values.
type ISA string

// The instruction sets, widest first. A kernel of one of them may use only the instructions that are named here. AVX512
// does not include the Galois-field instructions: the first processors with AVX-512 did not have them.
const (
	AVX512     ISA = "avx512"      // AVX-512 F, BW, DQ and VL, and all of avx2-nogfni; 32 registers of 64 bytes
	AVX2       ISA = "avx2"        // AVX2, FMA, F16C and GFNI; 16 registers of 32 bytes
	AVX2NoGFNI ISA = "avx2-nogfni" // AVX2, FMA and F16C
	SSSE3      ISA = "ssse3"       // SSE to SSSE3; 16 registers of 16 bytes, no fused multiply-add
	NEON       ISA = "neon"        // of arm64, where Go always has it; 32 registers of 16 bytes
	Generic    ISA = "generic"     // portable Go
)

// features are the features that the processor and the operating system need for each instruction set. The
// operating system must save the wide registers of a thread; cpuid.Supports checks that.
var features = []struct {
	isa  ISA
	need []cpuid.FeatureID
}{
	{AVX512, []cpuid.FeatureID{cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX2, cpuid.FMA3,
		cpuid.F16C}},
	{AVX2, []cpuid.FeatureID{cpuid.AVX2, cpuid.FMA3, cpuid.F16C, cpuid.GFNI}},
	{AVX2NoGFNI, []cpuid.FeatureID{cpuid.AVX2, cpuid.FMA3, cpuid.F16C}},
	{SSSE3, []cpuid.FeatureID{cpuid.SSSE3}},
	{NEON, []cpuid.FeatureID{cpuid.ASIMD}},
	{Generic, nil},
}

func init() {
	if runtime.GOARCH == "arm64" {
		cpuid.CPU.Enable(cpuid.ASIMD) // cpuid finds it on Linux and macOS only
	}
}

// Supported returns the instruction sets of this processor, widest first; the last one is Generic. GEMM_CPU is ignored.
// After Hold, sets that are wider than the held one are left out.
func Supported() []ISA { return until(held, supported(cpuid.CPU.Supports)) }

// until returns the sets from isa on: all of them if isa is empty or not among them.
func until(isa ISA, sets []ISA) []ISA { return sets[max(0, slices.Index(sets, isa)):] }

// held is the set that Hold was called with; empty: none.
var held ISA

// Hold makes this package describe a processor whose widest instruction set is isa. So kernels, ceilings and the
// libraries that a comparison loads use no wider one. It must be called before the program computes anything. The
// error lists the possible sets. GEMM_CPU must be unset or name the same set.
func Hold(isa ISA) error {
	if _, err := choose(string(isa), supported(cpuid.CPU.Supports)); err != nil {
		return err
	}
	if mask := os.Getenv("GEMM_CPU"); mask != "" && mask != string(isa) {
		return fmt.Errorf("GEMM_CPU=%s is another instruction set: unset it", mask)
	}
	held = isa
	return nil
}

// Held returns the set that Hold was called with, or "". narrowed reports whether the processor has wider ones.
func Held() (isa ISA, narrowed bool) {
	return held, held != "" && held != supported(cpuid.CPU.Supports)[0]
}

func supported(has func(...cpuid.FeatureID) bool) []ISA {
	var sets []ISA
	for _, f := range features {
		if has(f.need...) {
			sets = append(sets, f.isa)
		}
	}
	return sets
}

// Detect returns the instruction set of this program's kernels: the set that the environment variable GEMM_CPU names,
// or else the widest set of the processor. An unknown name, or a set that the processor lacks, is an error that lists
// the possible ones: a run that tests one set must not quietly test another. The variable is read once.
//
// After Hold, the set is the held one.
func Detect() (ISA, error) {
	if held != "" {
		return held, nil
	}
	return detect()
}

var detect = sync.OnceValues(func() (ISA, error) {
	value := os.Getenv("GEMM_CPU")
	isa, err := choose(value, supported(cpuid.CPU.Supports))
	if err != nil {
		return "", fmt.Errorf("cpu: GEMM_CPU=%q: %w", value, err)
	}
	return isa, nil
})

// FullWidthAVX512 reports whether the processor has AVX-512 with full-width units, so that a kernel may be twice as
// fast as with AVX2. AMD's Zen 4 has AVX-512, but executes an instruction of 64 bytes as two of 32 bytes.
func FullWidthAVX512() bool {
	return fullWidth(Supported(), cpuid.CPU.VendorID, cpuid.CPU.Family)
}

func fullWidth(sets []ISA, vendor cpuid.Vendor, family int) bool {
	const zen4 = 0x19
	return slices.Contains(sets, AVX512) && !(vendor == cpuid.AMD && family == zen4)
}

// choose returns the instruction set of that name, or the widest set if the name is empty.
func choose(name string, sets []ISA) (ISA, error) {
	if name == "" {
		return sets[0], nil
	}
	if slices.Contains(sets, ISA(name)) {
		return ISA(name), nil
	}
	var names []string
	for _, isa := range sets {
		names = append(names, string(isa))
	}
	list := strings.Join(names, ", ")
	if !slices.Contains(All(), ISA(name)) {
		return "", fmt.Errorf("no such instruction set; this processor has %s", list)
	}
	if ISA(name) == AVX2 && slices.Contains(sets, AVX2NoGFNI) {
		return "", fmt.Errorf("this processor lacks it, for want of GFNI; it has %s", list)
	}
	return "", fmt.Errorf("this processor lacks it; it has %s", list)
}

// All returns all instruction sets, widest first.
func All() []ISA {
	var sets []ISA
	for _, f := range features {
		sets = append(sets, f.isa)
	}
	return sets
}
