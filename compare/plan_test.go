package compare

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/gf256"
)

// profileOn returns the built-in profile as on a host with that many processors.
func profileOn(t *testing.T, name string, processors int) Profile {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	i := slices.Index(profileNames, name)
	return Profiles()[i]
}

// experimentsOf returns a profile with the experiments of another one alone.
func experimentsOf(p Profile) Profile {
	return Profile{Experiments: p.Experiments, Baselines: p.Baselines}
}

// code returns the shape of a code of k data and m parity shards with width bytes each.
func code(k, m, width int) gemm.Shape { return gemm.Shape{M: m, N: width, K: k} }

// TestPeersProfile plans the profile peers for the variants that take part and one
// that does not.
func TestPeersProfile(t *testing.T) {
	p := profileOn(t, "peers", 2)
	threaded := []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
	var variants []gemm.Variant
	for _, name := range []string{"serial/naive", "serial/packed", "serial/gonum", "parallel/packed",
		"reference/openblas", "reference/numpy"} {
		v := variant(name, product[float64])
		if v.Family() != "serial" {
			v.Params = threaded
		}
		if name == "reference/numpy" {
			v.Least = 256 * 256 * 256
		}
		variants = append(variants, v)
	}
	l := Ladder{Variants: variants, Shapes: p.Shapes, Types: p.Types, Ops: []string{"nn"}, Alpha: 1, Keep: p.Ladder.keep,
		Sweep: map[string][]any{"threads": {1, 2}}}
	cases := l.Cases()
	batches := map[string]int{}
	for _, c := range p.Planned(append(variants, variant("serial/ikj", nil)), p.Types) {
		if c.Experiment != Batches || c.Batch != 1000 || c.Turn == "" {
			t.Errorf("an experiment: %v, turn %q", c, c.Turn)
		}
		batches[fmt.Sprint(c.Variant.Name, " ", c.Threads())]++
	}
	if want := map[string]int{"serial/packed 1": 4, "parallel/packed 2": 4, "reference/openblas 1": 4,
		"reference/openblas 2": 4}; !maps.Equal(batches, want) {
		t.Errorf("batches: %v, want %v", batches, want)
	}
	byShape := map[gemm.Shape][]string{}
	turns := map[gemm.Shape][]string{}
	for _, c := range cases {
		name := c.Variant.Name
		if c.Threads() > 1 {
			name += " 2"
		}
		byShape[c.Shape] = append(byShape[c.Shape], name)
		if !slices.Contains(turns[c.Shape], c.Turn) {
			turns[c.Shape] = append(turns[c.Shape], c.Turn)
		}
	}
	if len(byShape) != 17+16+6 {
		t.Errorf("%d shapes", len(byShape))
	}
	for shape, want := range map[gemm.Shape][]string{
		gemm.Cube(2):   {"serial/packed", "serial/gonum", "reference/openblas"},
		gemm.Cube(255): {"serial/packed", "serial/gonum", "reference/openblas"},
		gemm.Cube(257): {"serial/packed", "serial/gonum", "reference/openblas", "reference/numpy"},
		gemm.Cube(1024): {"serial/packed", "serial/gonum", "parallel/packed 2", "reference/openblas",
			"reference/openblas 2", "reference/numpy", "reference/numpy 2"},
		gemm.Cube(4096): {"serial/packed", "parallel/packed 2", "reference/openblas", "reference/openblas 2",
			"reference/numpy", "reference/numpy 2"},
		{M: 8192, N: 64, K: 64}: {"serial/packed", "serial/gonum", "reference/openblas", "reference/numpy"},
	} {
		if !slices.Equal(byShape[shape], want) {
			t.Errorf("%v: %q, want %q", shape, byShape[shape], want)
		}
		if len(turns[shape]) != 1 || turns[shape][0] == "" {
			t.Errorf("%v: the turns are %q, want one", shape, turns[shape])
		}
	}
}

// TestStudies plans the experiments on threads for 16 processors.
func TestStudies(t *testing.T) {
	var variants []gemm.Variant
	names := []string{"rows", "inner", "collapse-inner-atomic", "collapse-atomic", "collapse-reduce", "tiles",
		"packed", "strassen"}
	for _, name := range names {
		v := shared("parallel/"+name, nil)
		v.Params[1].Choices = []string{"default", "static", "dynamic", "guided", "auto"}
		v.Params[3].Choices = []string{"none", "close", "spread"}
		variants = append(variants, v)
	}
	serial := []gemm.Variant{variant("serial/ikj", nil), variant("serial/packed", nil), variant("serial/naive", nil)}
	for _, name := range []string{"quick", "parallel"} {
		p := experimentsOf(profileOn(t, name, 16))
		cases := p.Planned(slices.Concat(serial, variants), []string{"f64"})
		seen := map[identity]bool{}
		for _, c := range cases {
			if err := c.Err(); err != nil {
				t.Errorf("%s: %v: %v", name, c, err)
			}
			if seen[anIdentity(c)] {
				t.Errorf("%s: %v of %s is given twice", name, c, c.Experiment)
			}
			seen[anIdentity(c)] = true
			if c.Variant.Family() == "serial" && !slices.Contains(p.Baselines, c.Variant.Name) {
				t.Errorf("%s: %v is no baseline", name, c)
			}
			if traced := c.Experiment == ArtificialLoad && c.Variant.Family() == "parallel"; traced != c.Timeline {
				t.Errorf("%s: %v of %s has a timeline: %v", name, c, c.Experiment, c.Timeline)
			}
		}
		for _, experiment := range []Experiment{StrongScaling, ChunkSizes, ArtificialLoad} {
			for _, variant := range append(slices.Clone(p.Baselines), "parallel/rows") {
				if !slices.ContainsFunc(cases,
					func(c Case) bool { return c.Experiment == experiment && c.Variant.Name == variant }) {
					t.Errorf("%s: the experiment %s lacks %s", name, experiment, variant)
				}
			}
		}
		if alone := p.Planned(serial, []string{"f64"}); len(alone) > 0 {
			t.Errorf("%s: baselines alone: %v", name, alone)
		}
		if none := p.Planned(variants, []string{"f32"}); len(none) > 0 {
			t.Errorf("%s: without f64: %v", name, none)
		}
	}
	all := experimentsOf(profileOn(t, "parallel", 16)).Planned(slices.Concat(serial, variants), []string{"f64"})
	for _, name := range names {
		for _, threads := range []int{1, 2, 4, 8, 16} {
			if !slices.ContainsFunc(all, func(c Case) bool {
				return c.Experiment == StrongScaling && c.Variant.Name == "parallel/"+name && c.Threads() == threads
			}) {
				t.Errorf("strong scaling lacks parallel/%s on %d threads", name, threads)
			}
		}
	}
	var kernel int // rows of the last figure of the 2024 report on threads
	for _, c := range all {
		if c.Experiment == StrongScaling && c.Variant.Name == "parallel/collapse-atomic" &&
			slices.Contains([]string{"default", "static", "dynamic"}, c.Params.Text("schedule")) {
			kernel++
		}
	}
	if kernel != 5*3*5 {
		t.Errorf("%d rows of parallel/collapse-atomic, want one for each of 5 sizes, 3 schedules and 5 threads", kernel)
	}
}

// TestCutoffs checks the cut-offs that are swept for recursive variants. Parallel variants get only
// those with tasks that are large enough.
func TestCutoffs(t *testing.T) {
	recursive := func(v gemm.Variant) gemm.Variant {
		v.Params = append(v.Params, gemm.Param{Name: "cutoff", Default: 64, Min: 1})
		return v
	}
	p := Profile{Cutoffs: map[int][]int{32: {1, 15, 16, 32}}}
	var got []string
	for _, c := range p.Planned([]gemm.Variant{recursive(variant("serial/divide", nil)), variant("serial/naive", nil),
		recursive(shared("parallel/strassen", nil))}, []string{"f64"}) {
		got = append(got, c.String())
	}
	want := []string{
		"serial/divide f64 32 cutoff=1", "serial/divide f64 32 cutoff=15", "serial/divide f64 32 cutoff=16",
		"serial/divide f64 32 cutoff=32",
		"parallel/strassen f64 32 cutoff=16", "parallel/strassen f64 32 cutoff=32",
	}
	if !slices.Equal(got, want) {
		t.Errorf("cut-offs swept: %q, want %q", got, want)
	}
}

// onDevice returns variants of the family cuda with the parameters, f32 and f64.
func onDevice(params ...string) []gemm.Variant {
	var out []gemm.Variant
	for _, name := range []string{"blocktile2d", "conflictfree", "warptile", "tf32-mma", "packed-global",
		"dmma", "cublas"} {
		v := variant("cuda/"+name, nil)
		v.F32 = func(gemm.Params) (gemm.Multiplier[float32], error) { return nil, gemm.ErrUnavailable }
		for _, p := range params {
			if name != "cublas" || p == "l2" {
				v.Params = append(v.Params, gemm.Param{Name: p, Default: 0})
			}
		}
		if name == "tf32-mma" {
			v.F64 = nil
		}
		out = append(out, v)
	}
	return out
}

// TestCUDAProfile plans the profile cuda. All rows of a shape are in one turn, with the library; the
// rows of an experiment are in another.
func TestCUDAProfile(t *testing.T) {
	p := profileOn(t, "cuda", 2)
	variants := slices.Concat([]gemm.Variant{variant("serial/packed", nil), shared("parallel/packed", nil)},
		onDevice("block", "bk", "stages", "maxregs"))
	l := Ladder{Variants: variants, Shapes: p.Shapes, Types: p.Types, Ops: []string{"nn"}, Alpha: 1, Keep: p.Ladder.keep}
	rows := map[string]int{}
	for _, c := range l.Cases() {
		switch {
		case c.OnDevice() && c.Turn != "cuda "+c.Type+" "+c.Shape.String()+" nn":
			t.Errorf("%v is in turn %q", c, c.Turn)
		case c.Variant.Name == "serial/packed" || c.Variant.Name == "parallel/packed" && (c.M != c.K || c.N > 4096):
			t.Errorf("%v is among the rows", c)
		}
		rows[c.Type+" "+c.Shape.String()]++
	}
	if len(rows) != 2*21 || rows["f32 8192"] != 7 || rows["f64 4096"] != 7 || rows["f64 64x1048576x64"] != 6 {
		t.Errorf("the rows are %v", rows)
	}
	want := map[string]int{ // rows of each turn
		"block cuda f32 2048 nn": 2*4 + 1, "block cuda f64 2048 nn": 3*1 + 1, "chain cuda f64 2048 nn": 4,
		"batch cuda f32 1000 of 32 nn": 2, "batch cuda f32 1000 of 64 nn": 2, "batch cuda f32 1000 of 128 nn": 2,
		"stages cuda f32 4096 nn": 2, "stages cuda f64 4096 nn": 2 + 1, "maxregs cuda f32 4096 nn": 2*4 + 1,
		"l2 cuda f32 1024 nn": 3, "l2 cuda f64 1024 nn": 3,
	}
	got := map[string]int{}
	for _, c := range p.Planned(variants, p.Types) {
		if !c.OnDevice() {
			t.Errorf("%v of %s", c, c.Experiment)
		}
		got[c.Turn]++
	}
	if !maps.Equal(got, want) {
		t.Errorf("experiments have %v rows by turn, want %v", got, want)
	}
	for _, q := range Profiles() {
		n := len(q.Planned(onDevice(), []string{"f32", "f64"}))
		if n > 0 != slices.Contains([]string{"cuda", "full", "course"}, q.Name) {
			t.Errorf("%s has %d rows of experiments on a GPU", q.Name, n)
		}
		quick := Request{Variant: variant("cuda/a", nil), Type: "f32", Shape: gemm.Cube(64)}.Case()
		if keeps := q.Ladder.keep(quick); keeps != (q.Name == "quick" || q.Name == "full" || q.Name == "cuda") {
			t.Errorf("%s has rows of the ladder on a GPU: %v", q.Name, keeps)
		}
	}
}

// TestFieldProfile plans the profile gf256, and the code of the profile quick, for the
// variants that have the type and one that has not.
func TestFieldProfile(t *testing.T) {
	var variants []gemm.Variant
	for _, name := range []string{
		"serial/naive", "serial/ikj", "serial/packed", "parallel/rows", "parallel/packed", "reference/reedsolomon",
		"mpi/summa", "cuda/naive", "cuda/tuned", "serial/strassen",
	} {
		v := variant(name, nil)
		v.GF256 = func(gemm.Params) (gemm.Multiplier[gf256.Elem], error) { return nil, gemm.ErrUnavailable }
		switch {
		case name == "serial/strassen":
			v.GF256 = nil
		case name == "mpi/summa":
			v.Params = []gemm.Param{{Name: "ranks", Default: 1, Min: 1}}
		case v.Family() == "parallel" || v.Family() == "reference":
			v.Params = []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
		}
		variants = append(variants, v)
	}
	plan := func(name string) map[gemm.Shape][]string {
		p := profileOn(t, name, 2)
		types := p.Types
		if types == nil {
			types = []string{"f64", "f32", "gf256"}
		}
		l := Ladder{Variants: variants, Shapes: p.Shapes, Types: types, Ops: []string{"nn"}, Alpha: 1, Keep: p.Ladder.keep,
			Sweep: map[string][]any{"threads": {1, 2}}}
		rows := map[gemm.Shape][]string{}
		for _, c := range l.Cases() {
			if c.Type == "gf256" || c.Shape == code(10, 4, 64<<10) {
				name := c.Variant.Name
				if c.Threads() > 1 {
					name += " 2"
				}
				rows[c.Shape] = append(rows[c.Shape], name)
			}
		}
		return rows
	}
	fast := []string{"serial/packed", "parallel/packed 2", "reference/reedsolomon", "reference/reedsolomon 2"}
	rows := plan("gf256")
	if len(rows) != 7*2+9-2 {
		t.Errorf("%d shapes", len(rows))
	}
	for shape, want := range map[gemm.Shape][]string{
		code(4, 2, 64<<10):   fast,
		code(128, 32, 1<<20): append(slices.Clone(fast), "cuda/tuned"),
		code(10, 4, 4<<10):   fast,
		code(10, 4, 64<<10):  append([]string{"serial/naive", "serial/ikj"}, fast...),
		code(10, 4, 16<<20):  append(slices.Clone(fast), "cuda/naive", "cuda/tuned"),
		code(10, 4, 256<<20): {"cuda/tuned"},
	} {
		if got := rows[shape]; !slices.Equal(got, want) {
			t.Errorf("%v: %q, want %q", shape, got, want)
		}
	}
	if got := plan("quick")[code(10, 4, 64<<10)]; len(got) != 9+3 || slices.Contains(got, "serial/strassen") {
		t.Errorf("quick: %q, want each variant that has the type once, and those with threads twice", got)
	}
}

// TestQuickProfile plans the ladder of the profile quick: which variants have large sizes, numbers of
// ranks, and libraries on several threads.
func TestQuickProfile(t *testing.T) {
	p := profileOn(t, "quick", 2)
	onRanks := variant("mpi/summa", product[float64])
	onRanks.Params = []gemm.Param{{Name: "ranks", Default: 1, Min: 1}}
	library := variant("reference/blis", product[float64])
	library.Params = []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
	l := Ladder{
		Variants: []gemm.Variant{variant("serial/naive", product[float64]), variant("serial/ikj", product[float64]),
			variant("serial/packed", product[float64]), shared("parallel/rows", product[float64]), onRanks, library},
		Shapes: p.Shapes, Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1,
		Sweep: map[string][]any{"ranks": anys(p.Ranks)}, Libraries: map[string][]any{"threads": anys(p.LibraryThreads)},
		Keep: func(c Case) bool { return p.Keeps(c, false) },
	}
	got := map[int][]string{}
	for _, c := range l.Cases() {
		if c.Shape == gemm.Cube(c.N) {
			got[c.N] = append(got[c.N], c.String())
		}
	}
	for n, want := range map[int][]string{
		128: {"serial/naive f64 128", "serial/ikj f64 128", "parallel/rows f64 128", "serial/packed f64 128",
			"reference/blis f64 128 threads=1"},
		1024: {"serial/naive f64 1024", "serial/ikj f64 1024", "parallel/rows f64 1024", "mpi/summa f64 1024 ranks=2",
			"mpi/summa f64 1024 ranks=4", "serial/packed f64 1024", "reference/blis f64 1024 threads=1",
			"reference/blis f64 1024 threads=2"},
		2048: {"serial/packed f64 2048", "reference/blis f64 2048 threads=1", "reference/blis f64 2048 threads=2"},
	} {
		if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(got[n])), want) {
			t.Errorf("%d: %q, want %q", n, got[n], want)
		}
	}
}

// TestSlowCallsAreSkipped has a budget with a limit of a call: it is for large products only, and
// predicts by the rate of the size before.
func TestSlowCallsAreSkipped(t *testing.T) {
	d := Driver{Budget: Budget{Timeout: time.Minute, Call: time.Second}, lessons: map[string]lesson{}}
	of := func(n int) Case {
		return Request{Variant: variant("serial/a", nil), Type: "f64", Shape: gemm.Cube(n), Op: "nn"}.Case()
	}
	slow := of(1)
	d.lessons[lessonKey(slow)] = lesson{c: of(512), took: 2}
	if reason := d.refuse(of(512)).Text; reason != "" {
		t.Errorf("512 is skipped: %s", reason)
	}
	const want = "predicted to take 16s a call at the rate of the size before, a call of this profile may take 1s: request it with --sizes"
	if reason := d.refuse(of(1024)).Text; reason != want {
		t.Errorf("1024 is skipped for %q, want %q", reason, want)
	}
	d.Budget.Loops = Limits{Call: 20 * time.Second, Patience: time.Hour}
	loop := Request{Experiment: Distributions, Variant: variant("serial/a", nil), Type: "f64", Shape: gemm.Cube(1024),
		Op: "nn"}.Case()
	if reason := d.refuse(loop).Text; reason != "" {
		t.Errorf("1024 of the experiment distribution is skipped: %s", reason)
	}
	if b := d.Budget.of(loop.Experiment); b.Patience != time.Hour || b.Timeout != time.Minute {
		t.Errorf("the budget of the experiment distribution is %+v", b)
	}
}

// TestPredictedTimes predicts from a product of one element, which is all fixed cost, and from larger ones.
func TestPredictedTimes(t *testing.T) {
	of := func(n int) Case {
		return Request{Variant: variant("mpi/a", nil), Type: "f64", Shape: gemm.Cube(n), Op: "nn"}.Case()
	}
	for _, test := range []struct {
		name string
		last lesson
		n    int
		want float64 // seconds
	}{
		{"a call that is all fixed cost", lesson{c: of(1), took: 80e-6}, 4096, 80e-6},
		{"operations", lesson{c: of(64), took: 100e-6 + 1}, 128, 100e-6 + 8},
		{"messages of one element", lesson{of(1), 1e-3, 1e-3, 1e-3, 0}, 1024, 1e-3},
		{"twice the modelled time", lesson{of(100), 2, 1, 0.25, 0.5}, 200, 0.5 + 1*4 + 0.5*8},
		{"more than a Duration holds", lesson{c: of(1), took: 1e6}, 1 << 20, (1 << 62) / 1e9},
	} {
		if got := test.last.predict(of(test.n)).Seconds(); !(math.Abs(got/test.want-1) < 1e-6) {
			t.Errorf("%s: %g s, want %g", test.name, got, test.want)
		}
	}
}

// TestDistributions plans the experiment of the 2024 report on ranks. Its rows are in turns of their own.
func TestDistributions(t *testing.T) {
	var variants []gemm.Variant
	for _, name := range []string{"mpi/p2p-rows", "mpi/scatter-rows", "mpi/scatter-blocks", "mpi/summa"} {
		v := variant(name, nil)
		v.Location = gemm.OnRanks
		v.Params = []gemm.Param{{Name: "ranks", Default: 2, Min: 1}, {Name: "local", Default: "serial/packed",
			Choices: []string{"serial/naive", "serial/packed"}}}
		variants = append(variants, v)
	}
	p := experimentsOf(profileOn(t, "mpi", 16))
	turns := map[string]int{}
	for _, c := range p.Planned(variants, []string{"f64"}) {
		if err := c.Err(); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		own := c.Experiment == Distributions
		if naive := c.Params["local"] == "serial/naive"; own != naive || own && c.Variant.Name == "mpi/summa" {
			t.Errorf("%v is in the experiment %s", c, c.Experiment)
		}
		if own != strings.HasPrefix(c.Turn, "distribution ") {
			t.Errorf("%v of %s is in the turn %q", c, c.Experiment, c.Turn)
		}
		if own {
			turns[c.Turn]++
		}
	}
	if len(turns) != 5*5 {
		t.Errorf("%d turns, want one for each of 5 sizes and 5 numbers of ranks", len(turns))
	}
	for turn, n := range turns {
		if n != 3 {
			t.Errorf("%s has %d rows, want 3", turn, n)
		}
	}
}

// TestBytes checks that the operands of a code are counted once. The verifier makes no copies of
// them in another type and no integers; nor does a single product.
func TestBytes(t *testing.T) {
	v := variant("serial/a", nil)
	v.Model = nil
	for typ, want := range map[string]struct{ product, all float64 }{
		"gf256": {(10+4)*65536 + 40, (10+4)*65536 + 40},
		"f64":   {8 * ((10+4)*65536 + 40), 2 * 8 * ((10+4)*65536 + 40)},
		"f32":   {4*((10+4)*65536+40) + 8*(10*65536+40), 2 * (4*((10+4)*65536+40) + 8*(10*65536+40))},
	} {
		c := Request{Variant: v, Type: typ, Shape: code(10, 4, 65536), Op: "nn", Alpha: 1}.Case()
		if product, all := c.ProductBytes(), c.Bytes(); product != want.product || all != want.all {
			t.Errorf("%s: %v bytes, a product %v, want %v, %v", typ, all, product, want.all, want.product)
		}
	}
	for _, op := range []string{"nn", "tt"} {
		c := Request{Variant: v, Type: "f64", Shape: code(10, 4, 65536), Op: op, Alpha: 1, LD: math.MaxInt}.Case()
		if bytes := c.Bytes(); !(bytes > math.MaxInt) {
			t.Errorf("%s with rows %d elements apart takes %v bytes", op, c.LD, bytes)
		}
	}
}

// TestFieldTurn checks the turns over GF(2⁸): products that a library computes too are interleaved
// with it, products of one type and shape alone are not.
func TestFieldTurn(t *testing.T) {
	shape := gemm.Shape{M: 4, N: 65536, K: 10}
	turn := func(name, typ string) string {
		return Request{Experiment: MainLadder, Variant: variant(name, nil), Type: typ, Shape: shape,
			Op: "nn"}.Case().turn()
	}
	ours := turn("serial/packed", "gf256")
	if ours == "" || ours != turn("reference/reedsolomon", "gf256") || ours != turn("parallel/packed", "gf256") {
		t.Errorf("the turns are %q, %q and %q", ours, turn("reference/reedsolomon", "gf256"),
			turn("parallel/packed", "gf256"))
	}
	if ours == turn("serial/packed", "f64") || turn("serial/ikj", "gf256") != "" {
		t.Errorf("f64 is in turn %q, serial/ikj in %q", turn("serial/packed", "f64"), turn("serial/ikj", "gf256"))
	}
}

// TestTurnOfCodes checks that the codes with short shards are in one turn and follow each other. Codes
// with long shards have turns of their own.
func TestTurnOfCodes(t *testing.T) {
	packed := variant("serial/packed", nil)
	packed.GF256 = func(gemm.Params) (gemm.Multiplier[gf256.Elem], error) { return nil, nil }
	l := Ladder{Variants: []gemm.Variant{packed}, Types: []string{"gf256"}, Ops: []string{"nn"}, Shapes: []gemm.Shape{
		code(10, 4, 64<<10), code(10, 4, 1<<20), code(50, 20, 64<<10), code(50, 20, 1<<20), gemm.Cube(64 << 10),
	}}
	var turns []string
	for _, c := range l.Cases() {
		if len(turns) == 0 || turns[len(turns)-1] != c.Turn {
			turns = append(turns, c.Turn)
		}
	}
	if want := 4; len(turns) != want || len(slices.Compact(slices.Sorted(slices.Values(turns)))) != want {
		t.Errorf("%d turns, one after the other, want %d: %q", len(turns), want, turns)
	}
}

// program returns a textbook program in C with the options of its compiler to choose from.
func program(name string) gemm.Variant {
	v := variant(name, product[float64])
	v.Role = gemm.Program
	v.Params = []gemm.Param{{Name: cFlags, Default: "-O3", Choices: []string{"-O0", "-O2", "-O3"}}}
	return v
}

// TestLoopsInC plans the experiment on compilers: every loop with every set of options is in one turn
// with the loops of this program, and not in a turn with libraries.
func TestLoopsInC(t *testing.T) {
	variants := []gemm.Variant{variant("serial/naive", nil), variant("serial/packed", nil),
		program("reference/c-naive"),
		program("reference/c-ikj"), shared("reference/blis", nil)}
	loops64 := Profile{Loops: builds{[]int{64}, []string{"serial/naive"}}}
	var got []string
	for _, c := range loops64.Planned(variants, []string{"f64", "f32"}) {
		if c.Build == "" {
			got = append(got, c.String())
			if c.Turn != "compiler f64 64 nn" {
				t.Errorf("%v has the turn %q", c, c.Turn)
			}
		}
	}
	want := []string{"reference/c-naive f64 64 cflags=-O0", "reference/c-naive f64 64 cflags=-O2",
		"reference/c-naive f64 64 cflags=-O3", "reference/c-ikj f64 64 cflags=-O0", "reference/c-ikj f64 64 cflags=-O2",
		"reference/c-ikj f64 64 cflags=-O3", "serial/naive f64 64"}
	if !slices.Equal(got, want) {
		t.Errorf("the cases are %q, want %q", got, want)
	}
	for _, p := range []Profile{{}, loops64} {
		of := variants
		if p.Loops.Sizes != nil {
			of = variants[:2]
		}
		for _, c := range p.Planned(of, []string{"f64"}) {
			if c.Build == "" {
				t.Errorf("%v is planned without a size or a program", c)
			}
		}
	}
	if c := (Request{Variant: program("reference/c-ikj"), Type: "f64", Shape: gemm.Cube(8)}).Case(); c.turn() != "" ||
		c.foreign() || c.shared() || !c.outside() {
		t.Errorf("a program in C has the turn %q in the ladder, or counts as a library or as ours", c.turn())
	}
}

// TestOpenMPStudy plans the experiment openmp: the pool and OpenMP with one setting are in one turn.
func TestOpenMPStudy(t *testing.T) {
	pool := shared("parallel/collapse-atomic", nil)
	pool.Params[1].Choices = []string{"default", "static", "dynamic", "guided", "auto"}
	other := shared("reference/openmp-collapse", nil)
	other.Role, other.Params = gemm.Program, pool.Params
	of := func(variants ...gemm.Variant) (turns map[string]int) {
		turns = map[string]int{}
		for _, c := range experimentsOf(profileOn(t, "parallel", 2)).Planned(variants, []string{"f64"}) {
			if c.Experiment == OpenMPLoops {
				turns[c.Turn]++
			}
		}
		return turns
	}
	turns := of(pool, other)
	for turn, cases := range turns {
		if cases != 2 {
			t.Errorf("the turn %q has %d cases", turn, cases)
		}
	}
	// At one size three schedules with four chunks, at all four sizes three schedules with their own.
	if want := 2 * (3*4 + 4*3 - 2); len(turns) != want {
		t.Errorf("%d turns, want %d, one for each number of threads, size, schedule and chunk", len(turns), want)
	}
	if alone := of(pool); len(alone) > 0 {
		t.Errorf("the pool alone has the turns %v", alone)
	}
}

// TestProgramsInProfiles checks at which sizes the ladders of profiles have programs in C and in Python, which
// are slow.
func TestProgramsInProfiles(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"reference/c-naive": {"quick": 1, "full": 6}, // full: cubes up to 1024
		"reference/python":  {"quick": 2, "full": 2, "course": 1},
	} {
		for _, p := range Profiles() {
			if got := inLadder(p, program(name)); len(got) != want[p.Name] {
				t.Errorf("%s: %d rows of %s, want %d: %v", p.Name, len(got), name, want[p.Name], got)
			}
		}
	}
}

// inLadder returns the rows of the variant in the ladder of the profile.
func inLadder(p Profile, v gemm.Variant) []Case {
	return Ladder{Variants: []gemm.Variant{v}, Shapes: p.Shapes, Types: []string{"f64", "gf256"}, Ops: []string{"nn"},
		Alpha: 1, Keep: func(c Case) bool { return p.Keeps(c, false) }}.Cases()
}

// TestLoopOrders checks that rows of a study are an experiment of their own, interleaved, and in no ladder.
func TestLoopOrders(t *testing.T) {
	v := variant("serial/loops", product[float64])
	v.Role, v.Params = gemm.Study, []gemm.Param{{Name: "order", Default: "ijk", Choices: []string{"ijk", "kij"}}}
	for _, p := range Profiles() {
		if got := inLadder(p, v); len(got) > 0 {
			t.Errorf("%s: %v in the ladder", p.Name, got)
		}
	}
	cases := Ladder{Variants: []gemm.Variant{v}, Shapes: cubes([]int{8}), Types: []string{"f64"}, Ops: []string{"nn"},
		Alpha: 1, Sweep: map[string][]any{"order": {"ijk", "kij"}}}.Cases()
	if len(cases) != 2 || cases[0].Experiment != LoopOrders || cases[0].Turn == "" || cases[1].Turn != cases[0].Turn {
		t.Errorf("rows %v, in the turn %q", cases, cases[0].Turn)
	}
}

// TestCourseProfile plans the profile course: each table that courses ask for has all its rows.
func TestCourseProfile(t *testing.T) {
	p := profileOn(t, "course", 2)
	onRanks := func(name string) gemm.Variant {
		v := variant(name, product[float64])
		v.Location = gemm.OnRanks
		v.Params = []gemm.Param{{Name: "ranks", Default: 1, Min: 1}}
		return v
	}
	orders := variant("serial/loops", product[float64])
	orders.Params = []gemm.Param{{Name: "order", Default: "ijk",
		Choices: []string{"ijk", "ikj", "jik", "jki", "kij", "kji"}}}
	rows := shared("parallel/rows", product[float64])
	rows.Params[1].Choices = []string{"default", "static", "dynamic", "guided", "auto"}
	variants := slices.Concat([]gemm.Variant{
		variant("serial/naive", nil), variant("serial/ikj", nil), orders, variant("serial/hinted", nil),
		variant("serial/packed", nil), rows, program("reference/c-naive"), variant("reference/python", nil),
		onRanks("mpi/p2p-rows"), onRanks("mpi/scatter-rows"), onRanks("mpi/scatter-blocks"), onRanks("mpi/summa"),
	}, onDevice("block", "bk"))
	l := Ladder{Variants: variants, Shapes: p.Shapes, Types: p.Types, Ops: []string{"nn"}, Alpha: 1, Keep: p.Ladder.keep,
		Sweep: map[string][]any{"ranks": anys(p.Ranks)}}
	type table struct {
		experiment Experiment
		variant    string
	}
	got := map[table]int{}
	for _, c := range append(l.Cases(), p.Planned(variants, p.Types)...) {
		if c.Err() != nil {
			t.Errorf("%v: %v", c, c.Err())
		}
		if c.Type != "f64" && !c.OnDevice() {
			t.Errorf("%v is on a processor and not in f64", c)
		}
		if c.Variant.Name == "reference/python" && c.Terms() > 1<<21 {
			t.Errorf("%v takes seconds a call", c)
		}
		got[table{c.Experiment, c.Variant.Name}]++
	}
	for want, n := range map[table]int{
		{MainLadder, "serial/packed"}: 96, {MainLadder, "serial/hinted"}: 96, {MainLadder, "serial/naive"}: 1,
		{MainLadder, "reference/python"}: 1, {MainLadder, "reference/c-naive"}: 0, {MainLadder, "mpi/summa"}: 0,
		{MainLadder, "parallel/rows"}: 1, {MainLadder, "mpi/p2p-rows"}: 1, {MainLadder, "cuda/dmma"}: 2 + 1,
		{StrongScaling, "mpi/p2p-rows"}: 25, {StrongScaling, "mpi/scatter-rows"}: 25,
		{StrongScaling, "mpi/scatter-blocks"}: 25, {StrongScaling, "parallel/rows"}: 5 * 4 * 3,
		{StrongScaling, "serial/ikj"}: 0, {LoopOrders, "serial/loops"}: 6, {CompilerOptions, "reference/c-naive"}: 3,
		{CompilerOptions, "serial/naive"}: 1, {BlockSizes, "cuda/packed-global"}: 3,
	} {
		if got[want] != n {
			t.Errorf("%v has %d rows, want %d", want, got[want], n)
		}
	}
}

// TestTimelinesOfWarps checks which rows of the ladder on a GPU have timelines: of kernels whose warps have roles, at
// one size.
func TestTimelinesOfWarps(t *testing.T) {
	for _, p := range Profiles() {
		if drawn := p.Name == "cuda" || p.Name == "full"; drawn != (p.Timelines != nil) {
			t.Errorf("%s has timelines of the ladder: %v", p.Name, p.Timelines != nil)
		} else if drawn && !slices.Contains(p.Shapes, gemm.Cube(4096)) {
			t.Errorf("%s lacks their size", p.Name)
		}
	}
	for _, test := range []struct {
		variant    string
		n          int
		experiment Experiment
		want       bool
	}{
		{"cuda/tf32-wgmma-persistent", 4096, MainLadder, true}, {"cuda/f16x3", 4096, MainLadder, true},
		{"cuda/f16x3", 2048, MainLadder, false}, {"cuda/f16x3", 4096, CacheStates, false},
		{"cuda/warptile", 4096, MainLadder, false},
	} {
		c := Case{Key: Key{Variant: test.variant, Experiment: test.experiment,
			Problem: Problem{Shape: gemm.Cube(test.n)}}}
		if got := profileOn(t, "cuda", 2).Draws(c); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// TestTimelinesOfRanks checks which rows of the experiments on ranks have timelines: of four variants, on
// the most ranks, at one size.
func TestTimelinesOfRanks(t *testing.T) {
	var variants []gemm.Variant
	for _, name := range []string{"p2p-rows", "scatter-rows", "bcast-rows", "summa", "cannon", "25d"} {
		variants = append(variants, onRanks("mpi/"+name, nil))
	}
	p := experimentsOf(profileOn(t, "full", 4))
	var drawn []string
	for _, c := range p.Planned(variants, []string{"f64"}) {
		if !c.Timeline {
			continue
		}
		drawn = append(drawn, c.Key.Variant)
		if c.Shape != gemm.Cube(1024) || c.Params["ranks"] != 4 || c.Experiment != StrongScaling {
			t.Errorf("%v of %s has a timeline", c, c.Experiment)
		}
	}
	if slices.Sort(drawn); !slices.Equal(drawn, []string{"mpi/cannon", "mpi/p2p-rows", "mpi/scatter-rows", "mpi/summa"}) {
		t.Errorf("timelines are of %q", drawn)
	}
}
