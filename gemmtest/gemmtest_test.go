package gemmtest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/record"
	"gemm/gf256"
	"gemm/half"
)

// textbook is a correct multiplier with a fault planted after, or in place of, its
// product.
type textbook[T gemm.Element] struct {
	kind  kind[T]
	dot   func(n int, a, b func(l int) T) T // computes an element; nil: as the kind does
	fault func(c, a, b gemm.Matrix[T])      // after a product
	lax   bool                              // checks no shapes
	blind bool                              // does not see that operands overlap
	deaf  bool                              // does not check the context
	early bool                              // checks the context at first only
	hangs chan struct{}                     // does empty products once it is closed; nil: at once
}

func (x textbook[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil && !x.lax && !(x.blind && errors.Is(err, gemm.ErrOverlap)) {
		return err
	}
	if err := ctx.Err(); err != nil && !x.deaf {
		return err
	}
	if c.Cols == 0 {
		if x.hangs != nil {
			<-x.hangs
		}
		return nil
	}
	k, n := min(a.Cols, b.Rows), min(c.Cols, b.Cols)
	for i := range min(c.Rows, a.Rows) {
		var sums gemm.Matrix[T]
		if x.dot == nil {
			sums = x.kind.product(a.Slice(i, 0, 1, k), b.Slice(0, 0, k, n))
		}
		for j := range n {
			if err := ctx.Err(); err != nil && !x.deaf && !x.early {
				return err
			}
			if x.dot != nil {
				c.Set(i, j, x.dot(k, func(l int) T { return a.At(i, l) }, func(l int) T { return b.At(l, j) }))
			} else {
				c.Set(i, j, sums.At(0, j))
			}
		}
	}
	if x.fault != nil && c.Rows > 0 && c.Cols > 0 && a.Cols > 0 {
		x.fault(c, a, b)
	}
	return nil
}

// variant is textbook's: a variant without constructors.
func variant() gemm.Variant {
	return gemm.Variant{
		Name:  "test/textbook",
		Bound: gemm.Classical,
		F64: func(gemm.Params) (gemm.Multiplier[float64], error) {
			return textbook[float64]{kind: numberKind[float64]()}, nil
		},
		F32: func(gemm.Params) (gemm.Multiplier[float32], error) {
			return textbook[float32]{kind: numberKind[float32]()}, nil
		},
		F16: func(gemm.Params) (gemm.Multiplier[half.F16], error) {
			return textbook[half.F16]{kind: numberKind[half.F16]()}, nil
		},
		BF16: func(gemm.Params) (gemm.Multiplier[half.BF16], error) {
			return textbook[half.BF16]{kind: numberKind[half.BF16]()}, nil
		},
		GF256: func(gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
			return textbook[gf256.Elem]{kind: fieldKind()}, nil
		},
		Model: func(s gemm.Shape, _ gemm.Params) gemm.Model {
			terms := float64(s.M) * float64(s.N) * float64(s.K)
			operands := float64(s.M)*float64(s.N) + float64(s.M)*float64(s.K) + float64(s.K)*float64(s.N)
			return gemm.Model{
				Flops: 2 * terms, Accesses: 3*terms + operands,
				Traffic: func(float64, float64) float64 { return 3*terms + operands },
			}
		},
	}
}

// TestSuite: a correct multiplier passes.
func TestSuite(t *testing.T) { Run(t, variant()) }

// caught returns the names of the checks that m fails, of a variant that declares can. Only the checks among
// those named are run; all are if none is named.
func caught[T gemm.Element](m gemm.Multiplier[T], kind kind[T], can gemm.Capabilities, among ...string) string {
	u := under[T]{m: m, v: variant(), kind: kind}
	u.v.Can = can
	var names []string
	for _, c := range u.checks() {
		if (len(among) == 0 || slices.Contains(among, c.name)) && c.check(u) != nil {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, ", ")
}

// faults are planted faults and the checks that must find them.
func faults[T gemm.Element](kind kind[T]) map[string]struct {
	m    textbook[T]
	want string
} {
	one := kind.small(3) // 1, or 3 in GF(2⁸)
	type row = struct {
		m    textbook[T]
		want string
	}
	after := func(f func(c, a, b gemm.Matrix[T])) textbook[T] { return textbook[T]{kind: kind, fault: f} }
	all := map[string]row{
		"none": {after(nil), ""},
		"the last term is missing for odd k": {after(func(c, a, b gemm.Matrix[T]) {
			if l := a.Cols - 1; l%2 == 0 {
				for i := range c.Rows {
					for j := range c.Cols {
						term := kind.mul(a.At(i, l), b.At(l, j))
						if term == kind.small(4) { // 2 in the floating-point types
							c.Set(i, j, kind.add(c.At(i, j), term))
						}
					}
				}
			}
		}), "exact"},
		"writes between the rows": {after(func(c, _, _ gemm.Matrix[T]) {
			if c.Stride > c.Cols {
				c.Data[c.Cols] = one
			}
		}), "exact"},
		"writes behind the last row": {after(func(c, _, _ gemm.Matrix[T]) {
			if end := (c.Rows-1)*c.Stride + c.Cols; end < len(c.Data) {
				c.Data[end] = one
			}
		}), "exact"},
		"writes A":                 {after(func(_, a, _ gemm.Matrix[T]) { a.Set(0, 0, kind.add(a.At(0, 0), one)) }), "exact"},
		"writes B":                 {after(func(_, _, b gemm.Matrix[T]) { b.Set(0, 0, kind.add(b.At(0, 0), one)) }), "exact"},
		"no shape is wrong":        {textbook[T]{kind: kind, lax: true}, "shape errors"},
		"overlap":                  {textbook[T]{kind: kind, blind: true}, "overlap"},
		"panics":                   {after(func(c, _, _ gemm.Matrix[T]) { c.Set(-1, 0, one) }), "exact"},
		"cannot be stopped":        {textbook[T]{kind: kind, deaf: true}, "cancelled, empty, polled"},
		"is stopped at first only": {textbook[T]{kind: kind, early: true}, "polled"},
	}
	for _, f := range Faults(kind.sentinel, kind.sentinel) {
		all[f.Name] = row{after(func(c, _, _ gemm.Matrix[T]) {
			if c.Rows > 2 && c.Cols > 2 {
				f.Plant(c)
			}
		}), "exact"}
	}
	return all
}

func TestFaults(t *testing.T) {
	t.Run("f64", func(t *testing.T) { testFaults(t, numberKind[float64]()) })
	t.Run("f32", func(t *testing.T) { testFaults(t, numberKind[float32]()) })
	t.Run("f16", func(t *testing.T) { testFaults(t, numberKind[half.F16]()) })
	t.Run("bf16", func(t *testing.T) { testFaults(t, numberKind[half.BF16]()) })
	t.Run("gf256", func(t *testing.T) { testFaults(t, fieldKind()) })
}

func testFaults[T gemm.Element](t *testing.T, kind kind[T]) {
	if Raced {
		t.Skip("the detector finds what writes A or B first, and TestConcurrentFaults has the goroutines")
	}
	for name, f := range faults(kind) {
		var among []string // the others would take long
		if f.want != "" {
			among = strings.Split(f.want, ", ")
		}
		if got := caught(gemm.Multiplier[T](f.m), kind, 0, among...); got != f.want {
			t.Errorf("%s: found by %q, want %q", name, got, f.want)
		}
	}
}

// TestHung finds a multiplier that does not return from an empty product.
func TestHung(t *testing.T) {
	defer func(before time.Duration) { hung = before }(hung)
	hung = time.Millisecond
	hangs := make(chan struct{})
	defer close(hangs)
	kind := fieldKind()
	u := under[gf256.Elem]{m: textbook[gf256.Elem]{kind: kind, hangs: hangs}, v: variant(), kind: kind}
	if err := checkEmpty(u); err == nil || !strings.Contains(err.Error(), "does not return") {
		t.Errorf("got %v", err)
	}
}

// TestFloatFaults plants what only floating-point arithmetic can do wrong.
func TestFloatFaults(t *testing.T) {
	if Raced {
		t.Skip("TestConcurrentFaults has the goroutines")
	}
	kind := numberKind[float64]()
	after := func(f func(c, a, b gemm.Matrix[float64])) textbook[float64] {
		return textbook[float64]{kind: kind, fault: f}
	}
	skipping := func(n int, a, b func(l int) float64) (sum float64) {
		for l := range n {
			if a(l) != 0 {
				sum += a(l) * b(l)
			}
		}
		return sum
	}
	single := func(n int, a, b func(l int) float64) float64 {
		var sum float32
		for l := range n {
			sum += float32(a(l) * b(l))
		}
		return float64(sum)
	}
	for name, test := range map[string]struct {
		m    textbook[float64]
		want string
	}{
		"skips zeros":       {textbook[float64]{kind: kind, dot: skipping}, "nonfinite"},
		"rounds to float32": {textbook[float64]{kind: kind, dot: single}, "rounded"},
		"NaN":               {after(func(c, _, _ gemm.Matrix[float64]) { c.Set(0, 0, math.NaN()) }), "exact"},
		"Inf":               {after(func(c, _, _ gemm.Matrix[float64]) { c.Set(0, 0, math.Inf(1)) }), "exact"},
		"NaN becomes zero":  {after(replace(math.IsNaN, 0)), "nonfinite"},
		"Inf becomes NaN": {after(replace(func(x float64) bool { return math.IsInf(x, 0) }, math.NaN())),
			"nonfinite"},
		"a tenth of the bound too far": {after(drift(1.1)), "rounded"},
	} {
		if got := caught(gemm.Multiplier[float64](test.m), kind, 0, test.want); got != test.want {
			t.Errorf("%s: found by %q, want %q", name, got, test.want)
		}
	}
}

// replace returns a fault that replaces elements of C.
func replace(which func(float64) bool, by float64) func(c, a, b gemm.Matrix[float64]) {
	return func(c, _, _ gemm.Matrix[float64]) {
		for i := range c.Rows {
			for j := range c.Cols {
				if which(c.At(i, j)) {
					c.Set(i, j, by)
				}
			}
		}
	}
}

// drift returns a fault that moves one element of C by a multiple of its bound.
func drift(times float64) func(c, a, b gemm.Matrix[float64]) {
	return func(c, a, b gemm.Matrix[float64]) {
		p := newPrecise(a, b)
		bound := gemm.Classical.Random(gemm.Shape{M: c.Rows, N: c.Cols, K: a.Cols}, nil, gemm.TypeOf[float64]().UnitRoundoff)
		if e := times * bound * p.abs[0]; p.hi[0]+e != p.hi[0] {
			c.Set(0, 0, p.hi[0]+e)
		}
	}
}

// sharing is a textbook that several goroutines must not call at the same time, or that says so
// in the wrong way.
type sharing struct {
	textbook[float64]
	sums    []float64      // that all products form a row in; nil: they do not
	mutex   sync.Mutex     // that a product waits for
	waits   bool           // for the mutex
	product gemm.Exclusive // that a product holds
	name    string         // which it names; empty: it holds nothing
}

func (x *sharing) Multiply(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	if x.waits {
		x.mutex.Lock()
		defer x.mutex.Unlock()
	}
	if x.name != "" {
		if err := x.product.Enter(x.name); err != nil {
			return err
		}
		defer x.product.Leave()
	}
	if x.sums == nil {
		return x.textbook.Multiply(ctx, c, a, b)
	}
	if c.Cols == 0 {
		return ctx.Err()
	}
	for i := range c.Rows {
		x.sums = append(x.sums[:0], make([]float64, c.Cols)...)
		for j := range c.Cols {
			if err := ctx.Err(); err != nil {
				return err
			}
			for l := range a.Cols {
				x.sums[j] += a.At(i, l) * b.At(l, j)
			}
		}
		copy(c.Row(i), x.sums)
	}
	return ctx.Err()
}

// TestConcurrentFaults checks that multipliers that goroutines must not share are found.
func TestConcurrentFaults(t *testing.T) {
	defer func(before time.Duration) { hung = before }(hung)
	hung = time.Second
	good := textbook[float64]{kind: numberKind[float64]()}
	for name, test := range map[string]struct {
		m    gemm.Multiplier[float64]
		want string
	}{
		"shares nothing":            {good, ""},
		"refuses":                   {&sharing{textbook: good, sums: []float64{}, name: "test/textbook"}, ""},
		"refuses without its name":  {&sharing{textbook: good, name: "test/other"}, "concurrent"},
		"waits for another product": {&sharing{textbook: good, waits: true}, "concurrent"},
	} {
		if got := caught(test.m, good.kind, 0); got != test.want {
			t.Errorf("%s: caught by %q, want %q", name, got, test.want)
		}
	}
	if Raced {
		return // the detector finds this one first
	}
	if got := caught(&sharing{textbook: good, sums: []float64{}}, good.kind, 0); got != "concurrent" {
		t.Errorf("shares a workspace: caught by %q", got)
	}
}

// whole is a textbook that is a Gemmer too, with planted faults.
type whole struct {
	textbook[float64]
	readsC, ignoresTrans, ignoresAlpha bool
}

func (x whole) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha float64, a, b gemm.Matrix[float64], beta float64,
	c gemm.Matrix[float64]) error {
	op := func(m gemm.Matrix[float64], t blas.Transpose) gemm.Matrix[float64] {
		if t == blas.NoTrans || m.Check() != nil || x.ignoresTrans && m.Rows == m.Cols {
			return m
		}
		if m.Rows == 0 || m.Cols == 0 {
			return gemm.Matrix[float64]{Rows: m.Cols, Cols: m.Rows, Stride: m.Rows}
		}
		return tabulated(m.Cols, m.Rows, func(i, j int) float64 { return m.At(j, i) })
	}
	a, b = op(a, tA), op(b, tB)
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	product := gemm.NewMatrix[float64](c.Rows, c.Cols)
	if alpha != 0 {
		if err := x.Multiply(ctx, product, a, b); err != nil {
			return err
		}
	}
	if x.ignoresAlpha && alpha != 0 {
		alpha = 1
	}
	if c.Cols == 0 {
		return nil
	}
	for i := range c.Rows {
		for j := range c.Cols {
			sum := alpha * product.At(i, j)
			if beta != 0 || x.readsC {
				sum += beta * c.At(i, j)
			}
			c.Set(i, j, sum)
		}
	}
	return nil
}

func TestGemmFaults(t *testing.T) {
	if Raced {
		t.Skip("TestConcurrentFaults has the goroutines")
	}
	kind := numberKind[float64]()
	good := textbook[float64]{kind: kind}
	for name, test := range map[string]struct {
		m    whole
		want string
	}{
		"none":                  {whole{textbook: good}, ""},
		"β = 0 reads C":         {whole{textbook: good, readsC: true}, "gemm"},
		"ignores the transpose": {whole{textbook: good, ignoresTrans: true}, "gemm"},
		"ignores α":             {whole{textbook: good, ignoresAlpha: true}, "gemm"},
	} {
		if got := caught(gemm.Multiplier[float64](test.m), kind, gemm.Gemms); got != test.want {
			t.Errorf("%s: found by %q, want %q", name, got, test.want)
		}
	}
}

// staging is a textbook with every optional interface but Gemmer and GemmStager, and the Run of a
// product on ranks.
type staging struct {
	textbook[float64]
	gemm.Run
}

func (x staging) Stage(context.Context, gemm.Matrix[float64], gemm.Matrix[float64],
	gemm.Matrix[float64]) (gemm.Run, error) {
	return x, nil
}
func (staging) Touch(_, _, _ gemm.Matrix[float64])                      {}
func (staging) Resolved() gemm.Params                                   { return nil }
func (staging) Warnings() []record.Note                                 { return nil }
func (staging) Repeat(context.Context, int) (cost gemm.Cost, err error) { return cost, nil }
func (staging) Distribution() (d record.Distribution)                   { return d }
func (staging) Close() error                                            { return nil }

// TestDeclaredFaults checks that every optional interface that is declared but missing is named,
// and every one that is there but not declared.
func TestDeclaredFaults(t *testing.T) {
	bare := textbook[float64]{kind: numberKind[float64]()}
	const all = gemm.Stages | gemm.Touches | gemm.Explains | gemm.Warns | gemm.Repeats
	for name, test := range map[string]struct {
		m     gemm.Multiplier[float64]
		v     gemm.Variant
		lacks gemm.Capabilities
		want  string // interfaces
	}{
		"nothing": {bare, gemm.Variant{}, 0, ""},
		"nothing, all of it": {bare, gemm.Variant{Can: all | gemm.Gemms | gemm.GemmStages}, 0,
			"Gemmer Stager GemmStager Toucher Explainer Warner Repeater"},
		"nothing here": {bare, gemm.Variant{Can: all}, all, ""},
		"all":          {staging{textbook: bare}, gemm.Variant{Can: all, Location: gemm.OnRanks}, 0, ""},
		"all, undeclared": {staging{textbook: bare}, gemm.Variant{Location: gemm.OnRanks}, 0,
			"Stager Toucher Explainer Warner Repeater"},
		"elsewhere": {staging{textbook: bare}, gemm.Variant{Can: all, Location: gemm.OnGPU}, 0,
			"Distributed OnDevice"},
		"the full operation": {whole{textbook: bare}, gemm.Variant{}, 0, "Gemmer"},
	} {
		var found []string
		if err := checkDeclared(under[float64]{m: test.m, v: test.v, s: Suite{Lacks: test.lacks}}); err != nil {
			for line := range strings.Lines(err.Error()) {
				found = append(found, line[:strings.Index(line, ":")])
			}
		}
		if got := strings.Join(found, " "); got != test.want {
			t.Errorf("%s: found %q, want %q", name, got, test.want)
		}
	}
}

// TestComparators feeds the comparators what must never pass.
func TestComparators(t *testing.T) {
	a := tabulated(3, 4, func(i, j int) float64 { return float64(i-j) / 3 })
	b := tabulated(4, 3, func(i, j int) float64 { return float64(i+2*j) / 7 })
	kind := numberKind[float64]()
	want, p := kind.product(a, b), newPrecise(a, b)
	spoilt := func(f func(c gemm.Matrix[float64])) gemm.Matrix[float64] {
		c := tabulated(3, 3, want.At)
		f(c)
		return c
	}
	short := want
	short.Data = short.Data[:8]
	for name, c := range map[string]gemm.Matrix[float64]{
		"NaN":         spoilt(func(c gemm.Matrix[float64]) { c.Set(2, 2, math.NaN()) }),
		"+Inf":        spoilt(func(c gemm.Matrix[float64]) { c.Set(0, 2, math.Inf(1)) }),
		"-Inf":        spoilt(func(c gemm.Matrix[float64]) { c.Set(2, 0, math.Inf(-1)) }),
		"zero-filled": gemm.NewMatrix[float64](3, 3),
		"all NaN":     tabulated(3, 3, func(int, int) float64 { return math.NaN() }),
		"one element": spoilt(func(c gemm.Matrix[float64]) { c.Set(1, 2, c.At(1, 2)*(1+1e-9)) }),
		"transposed":  tabulated(3, 3, func(i, j int) float64 { return want.At(j, i) }),
		"short data":  short,
		"a row less":  want.Slice(0, 0, 2, 3),
		"empty":       {},
	} {
		if equal(c, want) == nil {
			t.Errorf("equal passes: %s", name)
		}
		if sameClass(c, want, false) == nil {
			t.Errorf("sameClass passes: %s", name)
		}
		for _, kind := range []gemm.BoundKind{gemm.Componentwise, gemm.Normwise} {
			if within(c, p, kind, 1e-14) == nil {
				t.Errorf("within passes, %s: %s", kind, name)
			}
		}
	}
	if within(want, p, gemm.Componentwise, math.NaN()) == nil {
		t.Error("within passes by a bound of NaN")
	}
	if err := errors.Join(equal(want, want), sameClass(want, want, false),
		within(want, p, gemm.Componentwise, 1e-14)); err != nil {
		t.Error(err)
	}
	nan := tabulated(1, 1, func(int, int) float64 { return math.NaN() })
	zero := gemm.NewMatrix[float64](1, 1)
	if equal(nan, nan) == nil || sameClass(zero, nan, true) == nil || sameClass(nan, zero, false) == nil {
		t.Error("NaN is equal to something")
	}
	if sameClass(nan, zero, true) != nil || sameClass(nan, nan, false) != nil {
		t.Error("NaN does not pass where it may be")
	}
}

// TestPrecise compares the reference with a known product: with k = 3, all terms cancel except the
// last one. Sums in float64 would lose it.
func TestPrecise(t *testing.T) {
	a := gemm.Matrix[float64]{Rows: 1, Cols: 3, Stride: 3, Data: []float64{1e17, 1, -1e17}}
	b := gemm.Matrix[float64]{Rows: 3, Cols: 1, Stride: 1, Data: []float64{1, 1.0 / 3, 1}}
	p := newPrecise(a, b)
	if got := p.hi[0] + p.lo[0]; got != 1.0/3 {
		t.Errorf("1e17 + 1/3 − 1e17 is %v, want 1/3", got)
	}
	if p.norms != 1e17 || p.abs[0] != 2e17 {
		t.Errorf("norms %v and %v, want 1e17 and 2e17", p.norms, p.abs[0])
	}
}

func TestRequired(t *testing.T) {
	for _, test := range []struct {
		list, feature string
		want          bool
		err           bool
	}{
		{"", "mpi", false, false},
		{"mpi", "mpi", true, false},
		{"cuda, mpi", "mpi", true, false},
		{"cuda", "mpi", false, false},
		{"mpi,typo", "mpi", false, true},
		{"", "typo", false, true},
	} {
		got, err := required(test.list, test.feature)
		if (err != nil) != test.err || err == nil && got != test.want {
			t.Errorf("%q in %q: got %v, %v", test.feature, test.list, got, err)
		}
	}
}

// stopper is a testing.TB that notes how it was ended.
type stopper struct {
	testing.TB
	ended string
}

func (s *stopper) Helper()               {}
func (s *stopper) Skip(...any)           { s.ended = "skip" }
func (s *stopper) Fatal(...any)          { s.ended = "fatal" }
func (s *stopper) Fatalf(string, ...any) { s.ended = "fatal" }

func TestRequire(t *testing.T) {
	missing := errors.New("not here")
	for _, test := range []struct {
		list    string
		missing error
		want    string
	}{
		{"", nil, ""}, {"", missing, "skip"}, {"blis", missing, "fatal"}, {"blis", nil, ""}, {"mkl", missing, "skip"},
		{"nonsense", nil, "fatal"},
	} {
		t.Setenv(requireVariable, test.list)
		s := &stopper{}
		Require(s, "blis", test.missing)
		if s.ended != test.want {
			t.Errorf("%s=%s, missing %v: ended by %q, want %q", requireVariable, test.list, test.missing, s.ended, test.want)
		}
	}
}

func FuzzTextbook(f *testing.F) { Fuzz(f, []gemm.Variant{variant()}) }
