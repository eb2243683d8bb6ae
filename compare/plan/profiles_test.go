package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gf256"
)

// profileOn returns the built-in profile for a host with that many processors.
func profileOn(name string, processors int) Profile {
	return Profiles(processors)[slices.Index(profileNames, name)]
}

// rowsOf returns the rows of the profile: those of its ladder, and those of its experiments.
func rowsOf(p Profile, variants []gemm.Variant) (ladder, experiments []Case) {
	cases, _ := Comparison{Profile: p, Variants: variants}.Cases()
	i := slices.IndexFunc(cases, func(c Case) bool { return c.Experiment != record.MainLadder })
	if i < 0 {
		i = len(cases)
	}
	return cases[:i], cases[i:]
}

// threaded is the parameter of variants that run on threads.
var threaded = []gemm.Param{{Name: "threads", Default: 1, Min: 1}}

// shapesOf returns the variants of each shape, with their threads if there are several.
func shapesOf(cases []Case) map[gemm.Shape][]string {
	out := map[gemm.Shape][]string{}
	for _, c := range cases {
		name := c.Variant.Name
		if c.Threads() > 1 {
			name = fmt.Sprint(name, " ", c.Threads())
		}
		out[c.Shape] = append(out[c.Shape], name)
	}
	return out
}

// code returns the shape of a code of k data and m parity shards with width bytes each.
func code(k, m, width int) gemm.Shape { return gemm.Shape{M: m, N: width, K: k} }

// TestPeersProfile plans the profile peers for the variants that take part and one
// that does not.
func TestPeersProfile(t *testing.T) {
	cases, experiments := rowsOf(profileOn("peers", 2), slices.Concat(
		variants(nil, "serial/naive", "serial/packed", "serial/gonum"),
		variants(threaded, "parallel/packed", "reference/openblas"),
		[]gemm.Variant{{Name: "reference/numpy", Role: gemm.Library, Params: threaded, Least: 256 * 256 * 256,
			F64: variant("reference/numpy").F64}}, variants(nil, "serial/ikj")))
	for _, c := range experiments {
		if c.Experiment != record.Batches || c.Batch != 1000 || c.Turn == "" {
			t.Errorf("an experiment: %v, turn %q", c, c.Turn)
		}
	}
	batches := tally(experiments, func(c Case) string { return fmt.Sprint(c.Variant.Name, " ", c.Threads()) })
	if want := map[string]int{"serial/packed 1": 4, "parallel/packed 2": 4, "reference/openblas 1": 4,
		"reference/openblas 2": 4}; !maps.Equal(batches, want) {
		t.Errorf("batches: %v, want %v", batches, want)
	}
	byShape, turns := shapesOf(cases), map[gemm.Shape][]string{}
	for _, c := range cases {
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

// onDevice returns variants of the family cuda with the parameters, f32 and f64.
func onDevice(params ...string) []gemm.Variant {
	var all []gemm.Param
	for _, p := range params {
		all = append(all, gemm.Param{Name: p, Default: 0})
	}
	out := append(variants(all, "cuda/tf32-mma", "cuda/blocktile2d", "cuda/conflictfree", "cuda/warptile",
		"cuda/packed-global", "cuda/dmma"), variant("cuda/cublas"))
	for i := range out {
		out[i].F32 = func(gemm.Params) (gemm.Multiplier[float32], error) { return nil, gemm.ErrUnavailable }
	}
	out[0].F64 = nil
	return out
}

// TestCUDAProfile plans the profile cuda. All rows of a shape are in one turn, with the library; the
// rows of an experiment are in another.
func TestCUDAProfile(t *testing.T) {
	ladder, experiments := rowsOf(profileOn("cuda", 2), append(onDevice("block", "bk", "stages", "maxregs"),
		variant("serial/packed"), shared("parallel/packed")))
	for _, c := range ladder {
		switch {
		case c.OnDevice() && c.Turn != "cuda "+c.Type+" "+c.Shape.String()+" nn":
			t.Errorf("%v is in turn %q", c, c.Turn)
		case c.Variant.Name == "serial/packed" || c.Variant.Name == "parallel/packed" && (c.M != c.K || c.N > 4096):
			t.Errorf("%v is among the rows", c)
		}
	}
	rows := tally(ladder, func(c Case) string { return c.Type + " " + c.Shape.String() })
	if len(rows) != 2*21 || rows["f32 8192"] != 7 || rows["f64 4096"] != 7 || rows["f64 64x1048576x64"] != 6 {
		t.Errorf("the rows are %v", rows)
	}
	want := map[string]int{ // rows of each turn
		"block cuda f32 2048 nn": 2*4 + 1, "block cuda f64 2048 nn": 3*1 + 1, "chain cuda f64 2048 nn": 4,
		"batch cuda f32 1000 of 32 nn": 2, "batch cuda f32 1000 of 64 nn": 2, "batch cuda f32 1000 of 128 nn": 2,
		"stages cuda f32 4096 nn": 2, "stages cuda f64 4096 nn": 2 + 1, "maxregs cuda f32 4096 nn": 2*4 + 1,
		"l2 cuda f32 1024 nn": 3, "l2 cuda f64 1024 nn": 3,
	}
	got := tally(experiments, func(c Case) string { return c.Turn })
	if !maps.Equal(got, want) {
		t.Errorf("experiments have %v rows by turn, want %v", got, want)
	}
	for _, q := range Profiles(2) {
		n := len(q.planned(onDevice(), []string{"f32", "f64"}))
		if n > 0 != slices.Contains([]string{"cuda", "full", "course"}, q.Name) {
			t.Errorf("%s has %d rows of experiments on a GPU", q.Name, n)
		}
		quick := Request{Variant: variant("cuda/a"), Type: "f32", Shape: gemm.Cube(64)}.Case()
		if keeps := q.Ladder.keep(quick); keeps != (q.Name == "quick" || q.Name == "full" || q.Name == "cuda") {
			t.Errorf("%s has rows of the ladder on a GPU: %v", q.Name, keeps)
		}
	}
}

// TestFieldProfile plans the profile gf256, and the code of the profile quick, for the
// variants that have the type and one that has not.
func TestFieldProfile(t *testing.T) {
	all := slices.Concat(variants(nil, "serial/naive", "serial/ikj", "serial/packed"),
		variants(threaded, "parallel/rows", "parallel/packed", "reference/reedsolomon"),
		[]gemm.Variant{onRanks("mpi/summa")}, variants(nil, "cuda/naive", "cuda/tuned"))
	for i := range all {
		all[i].GF256 = func(gemm.Params) (gemm.Multiplier[gf256.Elem], error) { return nil, gemm.ErrUnavailable }
	}
	plan := func(name string) map[gemm.Shape][]string {
		ladder, _ := rowsOf(profileOn(name, 2), append(all, variant("serial/strassen")))
		return shapesOf(slices.DeleteFunc(ladder, func(c Case) bool {
			return c.Type != "gf256" && c.Shape != code(10, 4, 64<<10)
		}))
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
	if got := plan("quick")[code(10, 4, 64<<10)]; len(got) != 9+1 || slices.Contains(got, "serial/strassen") {
		t.Errorf("quick: %q, want each variant that has the type once, and the library on one thread and on two", got)
	}
}

// TestQuickProfile plans the ladder of the profile quick: which variants have large sizes, numbers of
// ranks, and libraries on several threads.
func TestQuickProfile(t *testing.T) {
	ladder, _ := rowsOf(profileOn("quick", 2), append(variants(nil, "serial/naive", "serial/ikj", "serial/packed"),
		shared("parallel/rows"), onRanks("mpi/summa"), variants(threaded, "reference/blis")[0]))
	for n, want := range map[int][]string{
		128: {"serial/naive f64 128", "serial/ikj f64 128", "parallel/rows f64 128", "serial/packed f64 128",
			"reference/blis f64 128 threads=1"},
		1024: {"serial/naive f64 1024", "serial/ikj f64 1024", "parallel/rows f64 1024", "mpi/summa f64 1024 ranks=2",
			"mpi/summa f64 1024 ranks=4", "serial/packed f64 1024", "reference/blis f64 1024 threads=1",
			"reference/blis f64 1024 threads=2"},
		2048: {"serial/packed f64 2048", "reference/blis f64 2048 threads=1", "reference/blis f64 2048 threads=2"},
	} {
		got := texts(ladder, func(c Case) bool { return c.Shape == gemm.Cube(n) })
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// program returns a textbook program in C with the options of its compiler to choose from.
func program(name string) gemm.Variant {
	v := variant(name)
	v.Role = gemm.Program
	v.Params = []gemm.Param{{Name: cFlags, Default: "-O3", Choices: []string{"-O0", "-O2", "-O3"}}}
	return v
}

// TestProgramsInProfiles checks at which sizes the ladders of profiles have programs in C and in Python, which
// are slow.
func TestProgramsInProfiles(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"reference/c-naive": {"quick": 1, "full": 6}, // full: cubes up to 1024
		"reference/python":  {"quick": 2, "full": 2, "course": 1},
	} {
		for _, p := range Profiles(2) {
			if got := inLadder(p, program(name)); len(got) != want[p.Name] {
				t.Errorf("%s: %d rows of %s, want %d: %v", p.Name, len(got), name, want[p.Name], got)
			}
		}
	}
}

// inLadder returns the rows of the variant in the ladder of the profile.
func inLadder(p Profile, v gemm.Variant) []Case {
	return Ladder{Variants: []gemm.Variant{v}, Shapes: p.Shapes, Types: []string{"f64", "gf256"}, Ops: []string{"nn"},
		Alpha: 1, Keep: func(c Case) bool { return p.Ladder.keep(c) && p.Sizes.keep(c) }}.Cases()
}

// TestCourseProfile plans the profile course: each table that courses ask for has all its rows.
func TestCourseProfile(t *testing.T) {
	orders := variant("serial/loops")
	orders.Params = []gemm.Param{{Name: "order", Default: "ijk",
		Choices: []string{"ijk", "ikj", "jik", "jki", "kij", "kji"}}}
	cases := slices.Concat(rowsOf(profileOn("course", 2), slices.Concat(
		variants(nil, "serial/naive", "serial/ikj", "serial/hinted", "serial/packed", "reference/python"),
		[]gemm.Variant{orders, program("reference/c-naive")}, schedules("parallel/rows"), onDevice("block", "bk"),
		variants(onRanks("mpi/a").Params, "mpi/p2p-rows", "mpi/scatter-rows", "mpi/scatter-blocks", "mpi/summa"))))
	for _, c := range cases {
		if c.Err() != nil {
			t.Errorf("%v: %v", c, c.Err())
		}
		if c.Type != "f64" && !c.OnDevice() {
			t.Errorf("%v is on a processor and not in f64", c)
		}
		if c.Variant.Name == "reference/python" && c.Terms() > 1<<21 {
			t.Errorf("%v takes seconds a call", c)
		}
	}
	got := tally(cases, func(c Case) string { return fmt.Sprint(c.Experiment, " ", c.Variant.Name) })
	for table, want := range map[string]int{
		"ladder serial/packed": 96, "ladder serial/hinted": 96, "ladder serial/naive": 1,
		"ladder reference/python": 1, "ladder reference/c-naive": 0, "ladder mpi/summa": 0,
		"ladder parallel/rows": 1, "ladder mpi/p2p-rows": 1, "ladder cuda/dmma": 2 + 1,
		"strong mpi/p2p-rows": 25, "strong mpi/scatter-rows": 25, "strong mpi/scatter-blocks": 25,
		"strong parallel/rows": 5 * 4 * 3, "strong serial/ikj": 0, "order serial/loops": 6,
		"compiler reference/c-naive": 3, "compiler serial/naive": 1, "block cuda/packed-global": 3,
	} {
		if got[table] != want {
			t.Errorf("%s has %d rows, want %d", table, got[table], want)
		}
	}
}
