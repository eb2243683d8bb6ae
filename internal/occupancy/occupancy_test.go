package occupancy

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// limits returns the limits of a capability.
func limits(t *testing.T, c Capability) Limits {
	t.Helper()
	l, err := LimitsOf(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// of returns the occupancy of a kernel that can be asked for.
func of(t *testing.T, c Capability, k Kernel) Occupancy {
	t.Helper()
	o, err := Of(c, k)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// capabilities returns those with the names.
func capabilities(t *testing.T, names string) (all []Capability) {
	for _, name := range strings.Fields(names) {
		c, err := ParseCapability(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func TestParseCapability(t *testing.T) {
	for text, want := range map[string]Capability{
		"8.6": {8, 6}, "86": {8, 6}, "sm_86": {8, 6}, "7.5": {7, 5}, "120": {12, 0}, "sm_121": {12, 1}, "10.3": {10, 3},
		"sm_90a": {9, 0}, "sm_100f": {10, 0},
	} {
		if c, err := ParseCapability(text); err != nil || c != want {
			t.Errorf("%q: %v, %v, want %v", text, c, err, want)
		}
	}
	for _, text := range []string{"", "8", "8.5", "sm_", "sm_8.6", "sm_sm_86", "8.6a", "86a", "-8.6", "+86", "8,6", "8.60",
		" 8.6", "compute_86", "6.1", "13.0"} {
		if c, err := ParseCapability(text); !errors.Is(err, ErrCapability) ||
			!strings.Contains(err.Error(), `"`+text+`"; known are 7.0, 7.2, `) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	if name := (Capability{12, 0}).Target(); name != "sm_120" {
		t.Errorf("the target of 12.0 is %s", name)
	}
}

// TestLimits has the sizes of shared memory in NVIDIA's tables, and the most of a block, in KiB.
func TestLimits(t *testing.T) {
	known := 0
	for names, want := range map[string][]int{
		"7.0 7.2":                 {0, 8, 16, 32, 64, 96, 96},
		"7.5":                     {32, 64, 64},
		"8.0 8.7":                 {0, 8, 16, 32, 64, 100, 132, 164, 163},
		"8.6 8.9 12.0 12.1":       {0, 8, 16, 32, 64, 100, 99},
		"9.0 10.0 10.1 10.3 11.0": {0, 8, 16, 32, 64, 100, 132, 164, 196, 228, 227},
	} {
		for _, c := range capabilities(t, names) {
			l := limits(t, c)
			var got []int
			for _, size := range append(l.Carveouts, l.BlockSharedOptIn) {
				got = append(got, size>>10)
			}
			if known++; !slices.Equal(got, want) {
				t.Errorf("%v: shared memory of %d KiB, want %d", c, got, want)
			}
		}
	}
	if all := Capabilities(); len(all) != known {
		t.Errorf("known are %v, want %d", all, known)
	}
}

// TestCalculator has figures that cuda_occupancy.h of CUDA 13.5 gives.
func TestCalculator(t *testing.T) {
	for _, r := range []struct {
		capabilities                       string
		k                                  Kernel
		threads, registers, shared, blocks int
	}{
		{"7.0 7.2", Kernel{128, 40, 20000}, 16, 12, 4, 32},
		{"7.0 7.2", Kernel{96, 168, 1025}, 21, 4, 76, 32},
		{"7.5", Kernel{128, 40, 20000}, 8, 12, 3, 16},
		{"7.5", Kernel{96, 168, 1025}, 10, 4, 51, 16},
		{"8.0", Kernel{128, 40, 20000}, 16, 12, 7, 32},
		{"8.0", Kernel{96, 168, 1025}, 21, 4, 77, 32},
		{"8.6", Kernel{128, 40, 20000}, 12, 12, 4, 16},
		{"8.6", Kernel{96, 168, 1025}, 16, 4, 47, 16},
		{"8.7", Kernel{128, 40, 20000}, 12, 12, 7, 16},
		{"8.7", Kernel{96, 168, 1025}, 16, 4, 77, 16},
		{"8.9 12.0 12.1", Kernel{128, 40, 20000}, 12, 12, 4, 24},
		{"8.9 12.0 12.1", Kernel{96, 168, 1025}, 16, 4, 47, 24},
		{"9.0 10.0 10.3", Kernel{128, 40, 20000}, 16, 12, 11, 32},
		{"9.0 10.0 10.3", Kernel{96, 168, 1025}, 21, 4, 107, 32},
		{"10.1 11.0", Kernel{128, 40, 20000}, 12, 12, 11, 24},
		{"10.1 11.0", Kernel{96, 168, 1025}, 16, 4, 107, 24},
		{"7.0", Kernel{256, 32, 0}, 8, 8, Unlimited, 32},
		{"7.0", Kernel{288, 224, 0}, 7, 0, Unlimited, 32},
		{"7.0", Kernel{160, 255, 0}, 12, 1, Unlimited, 32},
		{"7.5", Kernel{1024, 64, 65536}, 1, 1, 1, 16},
		{"7.5", Kernel{33, 17, 257}, 16, 42, 128, 16},
		{"8.0", Kernel{256, 64, 49152}, 8, 4, 3, 32},
		{"8.0", Kernel{1024, 65, 0}, 2, 0, 164, 32},
		{"8.6", Kernel{32, 16, 0}, 48, 128, 100, 16},
		{"8.6", Kernel{96, 40, 0}, 16, 16, 100, 16},
		{"8.6", Kernel{1024, 37, 8192}, 1, 1, 11, 16}, // kernel 3 of the article on a kernel like cuBLAS
		{"8.6", Kernel{256, 128, 101376}, 6, 2, 1, 16},
		{"8.9", Kernel{64, 24, 1024}, 24, 42, 50, 24},
		{"9.0", Kernel{128, 168, 232448}, 16, 3, 1, 32},
		{"9.0", Kernel{384, 168, 115000}, 5, 1, 2, 32},
		{"9.0", Kernel{256, 255, 66000}, 8, 1, 3, 32},
		{"12.0", Kernel{128, 255, 0}, 12, 2, 100, 24},
	} {
		for _, c := range capabilities(t, r.capabilities) {
			if o := of(t, c, r.k); o.ByThreads != r.threads || o.ByRegisters != r.registers || o.ByShared != r.shared ||
				o.ByBlocks != r.blocks {
				t.Errorf("%v %+v: %d blocks by threads, %d by registers, %d by shared memory, %d by blocks, want %+v",
					c, r.k, o.ByThreads, o.ByRegisters, o.ByShared, o.ByBlocks, r)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	good := Kernel{Threads: 256, Registers: 128, Shared: 16 << 10}
	for _, r := range []struct {
		c    Capability
		k    Kernel
		is   error
		says string
	}{
		{Capability{8, 5}, good, ErrCapability, `unknown compute capability "8.5"; known are 7.0, 7.2, 7.5, 8.0,`},
		{Capability{8, 6}, Kernel{1025, 128, 0}, ErrKernel,
			"1025 threads a block, there can be 1 to 1024: launch more blocks"},
		{Capability{8, 6}, Kernel{0, 128, 0}, ErrKernel, "0 threads a block"},
		{Capability{8, 6}, Kernel{-1, 128, 0}, ErrKernel, "-1 threads a block"},
		{Capability{8, 6}, Kernel{256, 256, 0}, ErrKernel,
			"256 registers a thread, there can be 1 to 255: have the compiler spill"},
		{Capability{8, 6}, Kernel{256, 0, 0}, ErrKernel, "0 registers a thread"},
		{Capability{8, 6}, Kernel{256, 128, 99<<10 + 1}, ErrKernel,
			"101377 bytes of shared memory a block, there can be 0 to 101376 (99 KiB) on 8.6: choose smaller tiles"},
		{Capability{7, 5}, Kernel{256, 128, 64<<10 + 1}, ErrKernel,
			"65537 bytes of shared memory a block, there can be 0 to 65536 (64 KiB) on 7.5"},
		{Capability{7, 5}, Kernel{256, 128, -1}, ErrKernel, "-1 bytes of shared memory a block"},
	} {
		if o, err := Of(r.c, r.k); !errors.Is(err, r.is) || !strings.Contains(err.Error(), r.says) || o.Blocks != 0 {
			t.Errorf("%v %+v: %v, want %q", r.c, r.k, err, r.says)
		}
		for _, over := range []Resource{Threads, Registers, Shared} {
			if errors.Is(r.is, ErrCapability) {
				if _, err := Sweep(r.c, r.k, over); !errors.Is(err, r.is) {
					t.Errorf("a sweep over %s on %v: %v", over, r.c, err)
				}
			}
		}
	}
	// A sweep reads the kernel's other resources only, not the one that it varies.
	if _, err := Sweep(Capability{8, 6}, Kernel{256, 300, 0}, Registers); err != nil {
		t.Error(err)
	}
	if _, err := Sweep(Capability{8, 6}, Kernel{256, 300, 0}, Threads); !errors.Is(err, ErrKernel) {
		t.Errorf("a sweep with 300 registers: %v", err)
	}
}

// place adds blocks to a multiprocessor until one does not fit, and returns their number. Each warp
// goes to the partition with the most free registers; each block takes its shared memory.
func place(l Limits, k Kernel) int {
	warps, registers := (k.Threads+31)/32, (k.Registers*32+255)/256*256
	shared := (k.Shared + l.SharedReserved + l.SharedUnit - 1) / l.SharedUnit * l.SharedUnit
	if (warps+3)/4*4*registers > 65536 {
		return 0
	}
	free := []int{16384, 16384, 16384, 16384}
	for blocks := 0; ; blocks++ {
		if blocks == l.Blocks || (blocks+1)*warps > l.Threads/32 || (blocks+1)*shared > l.Shared {
			return blocks
		}
		for range warps {
			slices.Sort(free)
			if free[3] -= registers; free[3] < 0 {
				return blocks
			}
		}
	}
}

// TestProperties draws random kernels. The number of blocks must be as many as can be placed; their resources must
// exist; and a kernel that needs more must not have more blocks.
func TestProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		c := Capabilities()[random.IntN(len(table))]
		l := limits(t, c)
		k := Kernel{Threads: 1 + random.IntN(l.BlockThreads), Registers: 1 + random.IntN(l.ThreadRegisters),
			Shared: random.IntN(l.BlockSharedOptIn + 1)}
		if random.IntN(4) > 0 { // many that fit several times
			k.Threads, k.Registers, k.Shared = 1+k.Threads/4, 1+k.Registers/4, k.Shared/8
		}
		o := of(t, c, k)
		if want := place(l, k); o.Blocks != want {
			t.Fatalf("%v %+v: %d blocks, %d can be placed", c, k, o.Blocks, want)
		}
		if o.Blocks > l.Blocks || o.Warps > l.Warps || o.Blocks*o.BlockRegisters > l.Registers ||
			o.Blocks*o.BlockShared > l.Shared {
			t.Fatalf("%v %+v: %+v is more than there is", c, k, o)
		}
		if o.Warps != o.Blocks*o.BlockWarps || o.Share != float64(o.Warps)/float64(l.Warps) || o.Share < 0 || o.Share > 1 {
			t.Fatalf("%v %+v: %+v", c, k, o)
		}
		if i := slices.Index(l.Carveouts, o.Carveout); i < 0 || o.Carveout < o.Blocks*o.BlockShared ||
			i > 0 && l.Carveouts[i-1] >= o.Blocks*o.BlockShared {
			t.Fatalf("%v %+v: %d bytes of shared memory in %d", c, k, o.Blocks*o.BlockShared, o.Carveout)
		}
		for _, r := range []Resource{Threads, Registers, Shared, Blocks} {
			if o.By(r) < o.Blocks || slices.Contains(o.LimitedBy, r) != (o.By(r) == o.Blocks) {
				t.Fatalf("%v %+v: %d blocks by %s of %d, limited by %v", c, k, o.By(r), r, o.Blocks, o.LimitedBy)
			}
		}
		for _, more := range []Kernel{
			{min(k.Threads+1+random.IntN(64), l.BlockThreads), k.Registers, k.Shared},
			{k.Threads, min(k.Registers+1+random.IntN(16), l.ThreadRegisters), k.Shared},
			{k.Threads, k.Registers, min(k.Shared+1+random.IntN(4096), l.BlockSharedOptIn)},
		} {
			if m := of(t, c, more); m.Blocks > o.Blocks {
				t.Fatalf("%v: %+v has %d blocks, %+v has %d", c, k, o.Blocks, more, m.Blocks)
			}
		}
	}
}

// TestSweep checks that the steps have all possible values, and that every value within a step has
// the result of the step.
func TestSweep(t *testing.T) {
	for _, c := range Capabilities() {
		l := limits(t, c)
		k := Kernel{Threads: 96, Registers: 37, Shared: 8192}
		for _, s := range []struct {
			over        Resource
			first, last int
			set         func(k Kernel, n int) Kernel
			get         func(k Kernel) int
		}{
			{Threads, 1, l.BlockThreads, func(k Kernel, n int) Kernel { k.Threads = n; return k },
				func(k Kernel) int { return k.Threads }},
			{Registers, 1, l.ThreadRegisters, func(k Kernel, n int) Kernel { k.Registers = n; return k },
				func(k Kernel) int { return k.Registers }},
			{Shared, 0, l.BlockSharedOptIn, func(k Kernel, n int) Kernel { k.Shared = n; return k },
				func(k Kernel) int { return k.Shared }},
		} {
			steps, err := Sweep(c, k, s.over)
			if err != nil {
				t.Fatal(err)
			}
			at := s.first
			for i, step := range steps {
				if s.set(step.Kernel, s.get(k)) != k {
					t.Fatalf("%v over %s: step %d is %+v", c, s.over, i, step.Kernel)
				}
				to := s.get(step.Kernel)
				for _, n := range []int{at, (at + to) / 2, to} {
					if o := of(t, c, s.set(k, n)); o.Blocks != step.Blocks || o.Warps != step.Warps ||
						!slices.Equal(o.LimitedBy, step.LimitedBy) {
						t.Fatalf("%v over %s: %d is %+v, its step says %+v", c, s.over, n, o, step)
					}
				}
				at = to + 1
			}
			if at != s.last+1 {
				t.Errorf("%v over %s ends at %d, want %d", c, s.over, at-1, s.last)
			}
			if want := map[Resource]int{Threads: 32, Registers: 32}[s.over]; want > 0 && len(steps) != want {
				t.Errorf("%v over %s: %d steps, want %d", c, s.over, len(steps), want)
			}
		}
	}
	over := func(c Capability, k Kernel) (sizes, blocks []int) {
		steps, err := Sweep(c, k, Shared)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			sizes, blocks = append(sizes, s.Kernel.Shared), append(blocks, s.Blocks)
		}
		return sizes, blocks
	}
	sizes, blocks := over(Capability{8, 6}, Kernel{Threads: 256, Registers: 128})
	if !slices.Equal(sizes, []int{33024, 50176, 101376}) || !slices.Equal(blocks, []int{2, 2, 1}) {
		t.Errorf("over shared memory: %v blocks up to %v", blocks, sizes)
	}
	sizes, blocks = over(Capability{7, 5}, Kernel{Threads: 256, Registers: 64})
	if !slices.Equal(sizes, []int{13056, 16384, 21760, 32768, 65536}) || !slices.Equal(blocks, []int{4, 4, 3, 2, 1}) {
		t.Errorf("over shared memory of 7.5: %v blocks up to %v", blocks, sizes)
	}
	if steps, err := Sweep(Capability{8, 6}, Kernel{256, 32, 0}, Blocks); steps != nil || err != nil {
		t.Errorf("over blocks: %v, %v", steps, err)
	}
}
