package serial

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/bits"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
)

// find returns the variant called name.
func find(t testing.TB, name string) gemm.Variant {
	t.Helper()
	v, err := gemm.Lookup(Variants(), name)
	gemmtest.Must(t, err)
	return v
}

// nonFinite says what the variants do with NaN and Inf that do not propagate them.
var nonFinite = map[string]gemmtest.NonFinite{
	"serial/strassen": gemmtest.Spreads,
	"serial/winograd": gemmtest.Spreads,
	"serial/gonum":    gemmtest.SkipsZeros,
}

func TestVariants(t *testing.T) {
	for _, v := range Variants() {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			gemmtest.Suite{NonFinite: nonFinite[v.Name], OneCall: v.Name == "serial/gonum"}.Run(t, v)
		})
	}
}

// TestEdges runs the suite with parameters at and near their least values, and
// sizes round them.
func TestEdges(t *testing.T) {
	for _, block := range []int{1, 2, 7} {
		gemmtest.Suite{Sizes: around(block)}.Run(t, find(t, "serial/blocked"), gemm.Params{"block": block})
	}
	for _, name := range []string{"serial/divide", "serial/quadrants", "serial/strassen", "serial/winograd"} {
		v := find(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, cutoff := range []int{1, 2, 7} {
				s := gemmtest.Suite{NonFinite: nonFinite[name], Sizes: around(cutoff), Small: cutoff < 7}
				s.Run(t, v, gemm.Params{"cutoff": cutoff})
			}
			if name == "serial/winograd" {
				return // its leaves are called as strassen's are
			}
			for _, leaf := range leaves() {
				if testing.Short() && leaf.Name != "serial/packed" {
					continue // what has no kernels is the same for all instruction sets
				}
				s := gemmtest.Suite{NonFinite: nonFinite[name], Small: leaf.Name != "serial/packed"}
				if leaf.Name == "serial/gonum" {
					// What is a zero of A depends on the sums that the leaf is given.
					s.NonFinite, s.OneCall = gemmtest.Undefined, true
				}
				s.Run(t, v, gemm.Params{"cutoff": 3, "leaf": leaf.Name})
			}
		})
	}
}

// around returns sizes that a block of the given size divides, or just does not.
func around(block int) []int {
	return []int{block, block + 1, 2*block - 1, 2*block + 1}
}

func FuzzVariants(f *testing.F) { gemmtest.Fuzz(f, Variants()) }

// TestLeaves: every classical variant that is neither a recursion nor a study is a leaf.
func TestLeaves(t *testing.T) {
	var want, got []string
	for _, v := range Variants() {
		recursive := slices.ContainsFunc(v.Params, func(p gemm.Param) bool { return p.Name == "leaf" })
		if v.Bound.Kind == gemm.Componentwise && !recursive && v.Role != gemm.Study {
			want = append(want, v.Name)
		}
	}
	for _, v := range leaves() {
		got = append(got, v.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("leaves are %v, want %v", got, want)
	}
}

// divided returns parameters with which v divides a product of 70×70×70.
func divided(v gemm.Variant) gemm.Params {
	p := gemm.Params{}
	for _, q := range v.Params {
		if q.Name == "cutoff" || q.Name == "block" {
			p[q.Name] = 20
		}
	}
	return p
}

// TestCancelledMidway checks that every variant checks the context several times in a product.
// After the cancellation it computes only a few more pieces.
func TestCancelledMidway(t *testing.T) {
	for _, v := range Variants() {
		m, n, k := 260, 240, 220
		if v.Name == "serial/gonum" {
			// Its pieces are of 64 rows at least and a billion operations.
			m, n, k = 128, 2900, 2900
		}
		x, err := gemm.New[float64](v, divided(v))
		gemmtest.Must(t, err)
		c, a, b := gemm.NewMatrix[float64](m, n), gemm.NewMatrix[float64](m, k), gemm.NewMatrix[float64](k, n)
		t.Run(v.Name, func(t *testing.T) {
			gemmtest.CancelAt(t, 3, 4, func(ctx context.Context) error { return x.Multiply(ctx, c, a, b) })
		})
	}
}

// TestPieces checks that the pieces of a product cover it once, and have the order of its loops.
func TestPieces(t *testing.T) {
	for _, order := range orders(t) {
		for _, extents := range [][3]int{{300, 400, 500}, {1, 3000, 2001}, {3000, 2001, 1}, {2001, 1, 3000},
			{1, 1, 1 << 21}} {
			var before piece
			terms := 0
			gemmtest.Must(t, inPieces(t.Context(), order, extents, func(p piece) {
				terms += p.m * p.n * p.depth
				at, size := [3]int{p.i, p.j, p.k}, [3]int{p.m, p.n, p.depth}
				last := [3]int{before.i, before.j, before.k}
				x, y := inLoops(order, last), inLoops(order, at)
				if terms > p.m*p.n*p.depth && slices.Compare(x[:], y[:]) >= 0 {
					t.Errorf("%s, %v: %v follows %v", order, extents, p, before)
				}
				if size[strings.IndexByte("ijk", order[2])] != extents[strings.IndexByte("ijk", order[2])] || p.k%4 != 0 {
					t.Errorf("%s, %v: the innermost loop is cut, or k not at a multiple of four: %v", order, extents, p)
				}
				before = p
			}))
			if want := extents[0] * extents[1] * extents[2]; terms != want {
				t.Errorf("%s, %v: the pieces have %d terms, want %d", order, extents, terms, want)
			}
		}
	}
}

// inLoops returns the indices i, j and k as the loops of the order nest them.
func inLoops(order string, at [3]int) (sorted [3]int) {
	for x := range order {
		sorted[x] = at[strings.IndexByte("ijk", order[x])]
	}
	return sorted
}

// TestAllocations: no variant allocates once it has its workspace, but gonum its
// goroutines.
func TestAllocations(t *testing.T) {
	const n = 70
	a, b, c := gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n)
	ctx := t.Context()
	for _, v := range Variants() {
		m, err := gemm.New[float64](v, divided(v))
		gemmtest.Must(t, err)
		allocs := testing.AllocsPerRun(5, func() { err = errors.Join(err, m.Multiply(ctx, c, a, b)) })
		gemmtest.Must(t, err)
		if allocs != 0 && v.Name != "serial/gonum" {
			t.Errorf("%s: %v allocations a product, want none", v.Name, allocs)
		}
	}
}

// TestSchemeErrors compares the recurrences of the bounds with the closed forms of
// Higham's theorems 23.2 and 23.3.
func TestSchemeErrors(t *testing.T) {
	const u = 0x1p-53
	for levels := range 6 {
		for _, k0 := range []int{1, 3, 16} {
			k := k0 << levels
			kf, k0f := float64(k), float64(k0)
			closed := func(base, extra float64) float64 {
				return math.Pow(base, float64(levels))*(k0f*k0f+extra*k0f) - extra*kf
			}
			for _, test := range []struct {
				s              scheme
				base, own, his float64
			}{
				{strassenScheme, 12, 32.0 / 10, 5},
				{winogradScheme, 18, 89.0 / 16, 6},
			} {
				g := test.s.growth(k, k, k, k0, u)
				if want := closed(test.base, test.own); math.Abs(g.first-want) > 1e-12*want {
					t.Errorf("base %v, k=%d: the first-order error is %v·u, want %v·u", test.base, k, g.first, want)
				}
				if higham := closed(test.base, test.his); !(g.first <= higham*(1+1e-12)) {
					t.Errorf("base %v, k=%d: the first-order error is %v·u, above Higham's %v·u", test.base, k, g.first, higham)
				}
				// Higher orders are k·u times smaller.
				if r := g.worst / (u * g.first); !(math.Abs(r-1) < 1e-10) {
					t.Errorf("base %v, k=%d: the bound is %v times its first order", test.base, k, r)
				}
			}
		}
	}
}

// TestOperations compares the models' operations with the closed forms for powers
// of two.
func TestOperations(t *testing.T) {
	for levels := range 6 {
		const n0 = 8
		n := n0 << levels
		p := gemm.Params{"cutoff": n0, "leaf": "serial/ikj"}
		seven, nf := math.Pow(7, float64(levels)), float64(n)
		for name, want := range map[string]float64{
			"serial/divide":    2 * nf * nf * nf,
			"serial/quadrants": 2*nf*nf*nf + nf*nf*(math.Pow(2, float64(levels))-1),
			"serial/strassen":  seven*(2*n0*n0*n0+6*n0*n0) - 6*nf*nf,
			"serial/winograd":  seven*(2*n0*n0*n0+5*n0*n0) - 5*nf*nf,
		} {
			if got := find(t, name).Model(gemm.Cube(n), p).Flops; got != want {
				t.Errorf("%s: n=%d: %v operations, want %v", name, n, got, want)
			}
		}
	}
}

// TestPeeledOperations compares the operations of products with odd dimensions at every level with
// a count by hand, for 7×7×7 down to 3.
func TestPeeledOperations(t *testing.T) {
	p := gemm.Params{"cutoff": 3, "leaf": "serial/naive"}
	// Seven products of 3×3×3, 18 sums of 9 elements, 6×6 last terms, a column of 6
	// and a row of 7 sums of seven terms.
	const want = 7*2*27 + 18*9 + 2*36 + 2*7*6 + 2*7*7
	if got := find(t, "serial/strassen").Model(gemm.Cube(7), p).Flops; got != want {
		t.Errorf("%v operations, want %v", got, want)
	}
}

// TestWorkspace compares the workspace that the models predict with what is held.
func TestWorkspace(t *testing.T) {
	for _, shape := range [][3]int{{50, 60, 70}, {65, 33, 129}} {
		m, n, k := shape[0], shape[1], shape[2]
		for _, name := range []string{"serial/strassen", "serial/winograd"} {
			v := find(t, name)
			p, err := v.Resolve(gemm.Params{"cutoff": 5, "leaf": "serial/ikj"})
			gemmtest.Must(t, err)
			x, err := gemm.New[float64](v, p)
			gemmtest.Must(t, err)
			c, a, b := gemm.NewMatrix[float64](m, n), gemm.NewMatrix[float64](m, k), gemm.NewMatrix[float64](k, n)
			gemmtest.Must(t, x.Multiply(t.Context(), c, a, b))
			held, want := float64(cap(x.(*recursion[float64]).take(m, n, k).temporaries)), v.Model(gemm.Shape{M: m, N: n,
				K: k}, p).Workspace
			if held != want || held == 0 {
				t.Errorf("%s %v: holds %v elements, the model says %v", name, shape, held, want)
			}
			if third := float64(m*k+k*n+m*n) / 3; held > third {
				t.Errorf("%s %v: holds %v elements, more than a third of the operands, %v", name, shape, held, third)
			}
		}
	}
}

// TestResolved: packed says what its micro-kernel and its blocks are.
func TestResolved(t *testing.T) {
	m, err := gemm.New[float64](find(t, "serial/packed"), nil)
	gemmtest.Must(t, err)
	p := m.(gemm.Explainer).Resolved()
	if p.Text("kernel") == "" || p.Int("mc") <= 0 || p.Int("kc") <= 0 || p.Int("nc") <= 0 {
		t.Errorf("resolved to %v", p)
	}
}

// TestTraffic compares the models with what their files say, for a cache that
// holds a few rows but none of the operands.
func TestTraffic(t *testing.T) {
	const n, cache, line = 1024.0, 64 << 10, 8
	once := func(v string) float64 {
		variant := find(t, v)
		p, err := variant.Resolve(nil)
		gemmtest.Must(t, err)
		return variant.Model(gemm.Cube(n), p).Traffic(cache, line)
	}
	for name, want := range map[string]float64{
		"serial/naive":      n*n + n*n*n + 2*n*n, // k lines fit: B m times
		"serial/ikj":        n*n + n*n*n + 2*n*n,
		"serial/transposed": n*n + n*n*n + 2*n*n + 3*n*n,
		"serial/hinted":     n*n + n*n*n + 2*n*n,
		"serial/blocked":    n*n + 6*(n*n+2*n*n), // ⌈1024/192⌉ pieces
	} {
		if got := once(name); got != want {
			t.Errorf("%s: %v elements, want %v", name, got, want)
		}
	}
	small := find(t, "serial/naive").Model(gemm.Cube(n), nil).Traffic(4096, line)
	if want := n*n*n*line + n*n*n + 2*n*n; small != want {
		t.Errorf("naive, k lines do not fit: %v elements, want %v", small, want)
	}
	// Frigo et al.: within a constant of mnk/√Z.
	if got := once("serial/divide"); !(got <= 8*n*n*n/math.Sqrt(cache)) {
		t.Errorf("serial/divide: %v elements, more than 8·n³/√Z", got)
	}
}

// TestBoundsChecks has the compiler report the bounds checks that it keeps. There must be
// none in the innermost loops that add rows.
func TestBoundsChecks(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package once more")
	}
	command, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command")
	}
	if bits.UintSize == 32 {
		t.Skip("the compiler proves less of integers of 32 bits")
	}
	output, err := exec.Command(command, "build", "-gcflags=-d=ssa/check_bce", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for file, function := range map[string]string{"hinted.go": "addFour", "ikj.go": "AddScaled"} {
		first, last := loopLines(t, file, function)
		kept := regexp.MustCompile(regexp.QuoteMeta(file)+`:(\d+):\d+: Found Is`).FindAllSubmatch(output, -1)
		if len(kept) == 0 {
			t.Errorf("%s: the compiler reports no bounds check at all, nor that of the rows' lengths", file)
		}
		for _, match := range kept {
			line, err := strconv.Atoi(string(match[1]))
			gemmtest.Must(t, err)
			if first <= line && line <= last {
				t.Errorf("%s:%d: a bounds check is left in the loop of %s", file, line, function)
			}
		}
	}
}

// loopLines returns the first and last line of the first loop of a function.
func loopLines(t *testing.T, file, function string) (first, last int) {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	gemmtest.Must(t, err)
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		for _, statement := range f.Body.List {
			switch statement.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				return files.Position(statement.Pos()).Line, files.Position(statement.End()).Line
			}
		}
	}
	t.Fatalf("%s has no %s with a loop", file, function)
	return 0, 0
}

// BenchmarkMultiply times every variant on one processor, as the serial family
// is measured: -bench Multiply/serial/ikj/f64/n=512.
func BenchmarkMultiply(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, v := range Variants() {
		for _, n := range []int{64, 128, 256, 512, 1000, 1024} {
			b.Run(fmt.Sprintf("%s/f64/n=%d", v.Name, n), func(b *testing.B) { benchmark[float64](b, v, n) })
			b.Run(fmt.Sprintf("%s/f32/n=%d", v.Name, n), func(b *testing.B) { benchmark[float32](b, v, n) })
		}
	}
}

func benchmark[T gemm.Float](b *testing.B, v gemm.Variant, n int) {
	m, err := gemm.New[T](v, nil)
	gemmtest.Must(b, err)
	c, x, y := gemm.NewMatrix[T](n, n), gemm.NewMatrix[T](n, n), gemm.NewMatrix[T](n, n)
	for i := range x.Data {
		x.Data[i], y.Data[i] = T(i%7-3), T(i%5-2)
	}
	for b.Loop() {
		gemmtest.Must(b, m.Multiply(b.Context(), c, x, y))
	}
	b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
