package cuda

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/ladder"
	"gemm/cuda/nvrtc"
	"gemm/gemmtest"
)

// sequences calls f for products of every rung, with the operands stored in each way.
func sequences(t *testing.T, f func(name string, q Sequence, op Operation, a, b, c Operand)) {
	t.Helper()
	for _, typ := range gemm.TypeNames() {
		for _, r := range Ladder(typ) {
			for _, s := range []gemm.Shape{{M: 512, N: 512, K: 512}, {M: 63, N: 65, K: 4097},
				{M: 4095, N: 4095, K: 4095}, {M: 64, N: 64, K: 1 << 16}, {M: 9000, N: 40, K: 4100}, {M: 3, N: 5, K: 0}} {
				for _, op := range []Operation{Plain, {TransA: true, Alpha: 2, Beta: 3}, {TransB: true, Alpha: -1},
					{TransA: true, TransB: true, Alpha: 1, Beta: 1}, {Alpha: 0, Beta: 1}} {
					if typ == "gf256" && op != Plain {
						continue
					}
					a, b := Operand{LD: max(1, s.K)}, Operand{Address: 16, LD: s.N}
					c := Operand{Address: 256, LD: s.N + 1}
					if op.TransA {
						a.LD = s.M
					}
					if op.TransB {
						b.LD = max(1, s.K)
					}
					name := fmt.Sprintf("%s/%s %v %+v", typ, r.Name, s, op)
					q, err := r.Sequence(h200, s, op, a, b, c, nil)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					f(name, q, op, a, b, c)
				}
			}
		}
	}
}

// String returns the launch as messages have it.
func (l Launch) String() string {
	return fmt.Sprintf("%s of %s, %d blocks of %d threads", l.Kernel, l.Program.Name, l.Blocks, l.Threads)
}

// parameters returns the parameters of a kernel in its source, as the launch compiles it.
func parameters(t *testing.T, l Launch) []string {
	t.Helper()
	source := l.Program.Source
	for _, macro := range []string{"CUT", "BATCH", "GUARDED", "THREE"} {
		if !slices.Contains(l.Program.Options, "-D"+macro) {
			source = regexp.MustCompile(`(?s)#ifdef `+macro+`\n.*?#endif`).ReplaceAllString(source, "")
		}
		source = strings.ReplaceAll(source, "#ifdef "+macro+"\n", "")
	}
	source = strings.ReplaceAll(source, "#endif\n", "")
	m := regexp.MustCompile(`__global__[^{]*?\b` + l.Kernel + `\(([^)]*)\)\s*\{`).FindStringSubmatch(source)
	if m == nil {
		t.Fatalf("%v: the source has no such kernel", l)
	}
	var out []string
	for p := range strings.SplitSeq(m[1], ",") {
		out = append(out, strings.Join(strings.Fields(p), " "))
	}
	return out
}

// TestSequenceArguments compares the arguments of every launch with the parameters in the source of
// its kernel: their number, their types, and the values that follow from their names.
func TestSequenceArguments(t *testing.T) {
	sequences(t, func(name string, q Sequence, op Operation, a, b, c Operand) {
		read := map[string]Argument{} // where the kernel finds A and B, and how far their rows are apart
		for _, l := range q.Launches {
			parameters := parameters(t, l)
			if len(parameters) != len(l.Arguments) {
				t.Fatalf("%s: %v has %d arguments for the parameters %q", name, l, len(l.Arguments), parameters)
			}
			want := map[string]uint64{"m": uint64(q.M), "n": uint64(q.N), "k": uint64(q.K),
				"whole": uint64(q.Tail.Whole), "span": uint64(q.Tail.Span), "each": uint64(q.Tail.Each),
				"ldc": uint64(c.LD), "alpha": q.Rung.scalar(op.Alpha).Bits,
				"beta": q.Rung.scalar(op.Beta).Bits}
			if op.Alpha == 0 {
				want["k"] = 0
			}
			if q.Rung.AtLaunch {
				want["rows"], want["cols"], want["depth"] = uint64(q.Tile.BM), uint64(q.Tile.BN), uint64(q.Tile.BK)
			}
			for i, p := range parameters {
				argument, short := l.Arguments[i], p[strings.LastIndexAny(p, " *")+1:]
				if pointer := strings.ContainsAny(p, "*") || argument.Map != nil; pointer != (argument.Buffer != "") {
					t.Errorf("%s: %v: %s has the argument %+v", name, l, p, argument)
				}
				if !strings.Contains(p, "*") && !strings.HasPrefix(p, "long long") && !strings.HasPrefix(p, "double") &&
					argument.Bits > math.MaxUint32 {
					t.Errorf("%s: %v: %s has the argument %+v", name, l, p, argument)
				}
				if value, ok := want[short]; ok && argument.Bits != value {
					t.Errorf("%s: %v: %s is %d, want %d", name, l, p, argument.Bits, value)
				}
				if l.Kernel == MainKernel || short == "C" {
					read[short] = argument
				}
			}
		}
		if read["C"] != (Argument{Buffer: BufferC}) {
			t.Errorf("%s: C is %+v", name, read["C"])
		}
		for short, x := range map[string]struct {
			buffer Buffer
			ld     int
			own    bool
		}{
			"A": {BufferA, a.LD, (!op.TransA || q.Rung.AsStored) && q.LayA == Layout{}},
			"B": {BufferB, b.LD, (!op.TransB || q.Rung.AsStored) && q.LayB == Layout{}},
		} {
			if rounds := (short == "A") != q.byRows() && q.Fallback == nil; q.Rung.Prepares() &&
				(rounds || q.Rung.Operands != ladder.Rounded) {
				continue
			}
			at, ld := read[short], read["ld"+strings.ToLower(short)]
			if at.Map != nil {
				ld.Bits = uint64(at.Map.LD)
			}
			if own := at.Buffer == x.buffer; own != x.own || own && ld.Bits != uint64(x.ld) {
				t.Errorf("%s: %s is %+v with rows %d apart, want the operand itself: %v, %d", name, short, at, ld.Bits,
					x.own, x.ld)
			}
		}
	})
}

// TestSequenceWork checks that no two places in the work memory overlap, and that all lie in it.
func TestSequenceWork(t *testing.T) {
	split, laid, zeros := false, false, false
	sequences(t, func(name string, q Sequence, _ Operation, _, _, _ Operand) {
		places := []int64{q.Work}
		for _, l := range q.Launches {
			for _, a := range l.Arguments {
				if a.Buffer == BufferWork {
					places = append(places, int64(a.Bits))
				}
			}
			if l.Blocks < 1 || l.Threads < 1 || l.Shared > h200.BlockSharedOptIn {
				t.Errorf("%s: %v cannot be launched", name, l)
			}
		}
		slices.Sort(places)
		places = slices.Compact(places)
		for i, at := range places[:len(places)-1] {
			if at%workAlign != 0 || places[i+1]-at < 16 {
				t.Errorf("%s: places in the work memory are %d", name, places)
			}
		}
		if q.Tail.Blocks > 0 {
			main := slices.IndexFunc(q.Launches, func(l Launch) bool { return l.Kernel == MainKernel })
			last := q.Launches[main].Arguments
			partial, arrived := last[len(last)-2], last[len(last)-1]
			if int64(partial.Bits)+q.PartialBytes() > int64(arrived.Bits) {
				t.Errorf("%s: sums of %d bytes at %d, counts at %d", name, q.PartialBytes(), partial.Bits, arrived.Bits)
			}
			split = true
		}
		laid = laid || q.LayA != Layout{}
		for _, z := range q.Zeros {
			zeros = zeros || z.Bytes > 0
			if z.At+z.Bytes > q.Work || !slices.Contains(places, z.At) {
				t.Errorf("%s: %+v is not in %d bytes with the places %d", name, z, q.Work, places)
			}
		}
	})
	if !split || !laid || !zeros {
		t.Errorf("split: %v, laid out anew: %v, with zeros: %v; the shapes show nothing", split, laid, zeros)
	}
}

// TestSequenceCompiles compiles the programs that lay operands out anew.
func TestSequenceCompiles(t *testing.T) {
	l, err := nvrtc.Find()
	gemmtest.Require(t, "nvrtc", err)
	seen := map[string]bool{}
	sequences(t, func(name string, q Sequence, _ Operation, _, _, _ Operand) {
		for _, launch := range q.Launches {
			key := launch.Kernel + fmt.Sprint(launch.Program.Options)
			if launch.Kernel != "transpose" && launch.Kernel != "align" && launch.Kernel != "to_tf32" || seen[key] {
				continue
			}
			seen[key] = true
			image, err := l.Compile(launch.Program)
			if _, ok := image.Kernels[launch.Kernel]; err != nil || !ok {
				t.Errorf("%s: %v: %v", name, launch, err)
			}
		}
	})
	if len(seen) != 10 { // two kernels in three types, and one in four forms
		t.Errorf("compiled %v", seen)
	}
}

// TestSequenceFree checks that a product whose partial sums do not fit in the memory is not divided.
func TestSequenceFree(t *testing.T) {
	r, s := rung(t, "f32", "tuned"), gemm.Shape{M: 64, N: 64, K: 1 << 16}
	g := h200
	for _, test := range []struct {
		free  int64
		parts bool
	}{{0, true}, {1 << 30, true}, {1, false}} {
		g.Free = test.free
		wide := Operand{LD: s.N}
		q, err := r.Sequence(g, s, Operation{TransA: true, Alpha: 1}, Operand{LD: s.M}, wide, wide, nil)
		if err != nil || q.Tail.Blocks > 0 != test.parts {
			t.Errorf("%d bytes free: %+v, %v", test.free, q.Tail, err)
		}
	}
}
