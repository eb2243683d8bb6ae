package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gf256"
)

// profileOn returns the built-in profile for a host with that many processors.
func profileOn(name string, processors int) Profile {
	return Profiles(processors)[slices.Index(profileNames, name)]
}

// rowsOf returns the rows of the profile's ladder and of its experiments.
func rowsOf(p Profile, variants []gemm.Variant) (ladder, experiments []Case) {
	cases, _ := Comparison{Profile: p, Variants: variants}.Cases()
	i := slices.IndexFunc(cases, func(c Case) bool { return c.Experiment != record.MainLadder })
	if i < 0 {
		i = len(cases)
	}
	return cases[:i], cases[i:]
}

// code returns the shape of a code of k data and m parity shards with width bytes each.
func code(k, m, width int) gemm.Shape { return gemm.Shape{M: m, N: width, K: k} }

// onDevice returns variants of the family cuda with the parameters, f32 and f64.
func onDevice(params ...string) []gemm.Variant {
	var all []gemm.Param
	for _, p := range params {
		all = append(all, gemm.Param{Name: p, Default: 0})
	}
	out := append(variants(all, "cuda/tuned-tf32-mma", "cuda/blocktile2d", "cuda/conflictfree", "cuda/tuned",
		"cuda/packed-global"), variant("cuda/cublas"))
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
	if len(rows) != 2*21 || rows["f32 8192"] != 6 || rows["f64 4096"] != 6 || rows["f64 64x1048576x64"] != 5 {
		t.Errorf("the rows are %v", rows)
	}
	want := map[string]int{ // rows of each turn
		"block cuda f32 2048 nn": 2*4 + 1, "block cuda f64 2048 nn": 3*1 + 1, "chain cuda f64 2048 nn": 3,
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

// program returns a textbook program in C with the options of its compiler to choose from.
func program(name string) gemm.Variant {
	v := variant(name)
	v.Role = gemm.Program
	v.Params = []gemm.Param{{Name: cFlags, Default: "-O3", Choices: []string{"-O0", "-O2", "-O3"}}}
	return v
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
		"ladder parallel/rows": 1, "ladder mpi/p2p-rows": 1, "ladder cuda/tuned": 2 + 1,
		"strong mpi/p2p-rows": 25, "strong mpi/scatter-rows": 25, "strong mpi/scatter-blocks": 25,
		"strong parallel/rows": 5 * 4 * 3, "strong serial/ikj": 0, "order serial/loops": 6,
		"compiler reference/c-naive": 3, "compiler serial/naive": 1, "block cuda/packed-global": 3,
	} {
		if got[table] != want {
			t.Errorf("%s has %d rows, want %d", table, got[table], want)
		}
	}
}

// TestShapesOfProfiles plans the ladders of profiles for two processors: which variants have a shape, with their
// threads or ranks if there are several, and how many shapes a type has.
func TestShapesOfProfiles(t *testing.T) {
	threads := []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
	all := slices.Concat(variants(nil, "serial/naive", "serial/ikj", "serial/packed", "serial/gonum"),
		variants(threads, "parallel/packed", "reference/openblas", "reference/numpy", "reference/reedsolomon"),
		[]gemm.Variant{onRanks("mpi/summa"), program("reference/c-naive"), program("reference/python")},
		variants(nil, "cuda/naive", "cuda/tuned"))
	for i := range all {
		switch v := &all[i]; v.Name {
		case "reference/numpy":
			v.Least = 256 * 256 * 256
		case "reference/reedsolomon":
			v.F64 = nil
			fallthrough
		case "serial/naive", "serial/ikj", "serial/packed", "parallel/packed", "cuda/naive", "cuda/tuned":
			v.GF256 = func(gemm.Params) (gemm.Multiplier[gf256.Elem], error) { return nil, gemm.ErrUnavailable }
		}
	}
	got, shapes, turns := map[string][]string{}, map[string]int{}, map[string]string{}
	for _, p := range Profiles(2) {
		ladder, _ := rowsOf(p, all)
		for _, c := range ladder {
			at, name := fmt.Sprint(p.Name, " ", c.Type, " ", c.Shape), c.Variant.Name
			if got[at] == nil {
				shapes[p.Name+" "+c.Type]++
				turns[at] = c.Turn
			}
			if n := cmp.Or(c.Params["ranks"], any(c.Threads())); n != 1 {
				name = fmt.Sprint(name, " ", n)
			}
			got[at] = append(got[at], name)
			if p.Name == "peers" && (c.Turn == "" || c.Turn != turns[at]) {
				t.Errorf("%v is in the turn %q, others in %q", c, c.Turn, turns[at])
			}
		}
	}
	if want := map[string]int{"quick f64": 7, "quick gf256": 8, "full f64": 12, "full gf256": 12, "peers f64": 39,
		"gf256 gf256": 21, "cuda f64": 21, "course f64": 97}; !maps.Equal(shapes, want) {
		t.Errorf("numbers of shapes: %v, want %v", shapes, want)
	}
	const gpu, coded = "cuda/naive, cuda/tuned",
		"serial/packed, parallel/packed 2, reference/reedsolomon, reference/reedsolomon 2"
	const libraries = "reference/openblas, reference/openblas 2, reference/numpy, reference/numpy 2"
	for at, want := range map[string]string{
		"quick f64 128": "serial/naive, serial/ikj, serial/packed, serial/gonum, parallel/packed, reference/openblas, " +
			"reference/python, " + gpu,
		"quick f64 256": "serial/naive, serial/ikj, serial/packed, serial/gonum, parallel/packed, reference/openblas, " +
			"reference/numpy, mpi/summa 2, mpi/summa 4, reference/c-naive, " + gpu,
		"quick f64 1024": "serial/naive, serial/ikj, serial/packed, serial/gonum, parallel/packed, " + libraries +
			", mpi/summa 2, mpi/summa 4, " + gpu,
		"quick f64 2048": "serial/packed, parallel/packed, " + libraries + ", " + gpu,
		"quick gf256 4x65536x10": "serial/naive, serial/ikj, serial/packed, parallel/packed, reference/reedsolomon, " +
			"reference/reedsolomon 2, " + gpu,
		"full f64 64": "serial/naive, serial/ikj, serial/packed, serial/gonum, parallel/packed, reference/openblas, " +
			"reference/numpy, reference/c-naive, reference/python, " + gpu,
		"full f64 1024": "serial/naive, serial/ikj, serial/packed, serial/gonum, parallel/packed, reference/openblas, " +
			"reference/numpy, mpi/summa 2, reference/c-naive, " + gpu,
		"peers f64 2":          "serial/packed, serial/gonum, reference/openblas",
		"peers f64 255":        "serial/packed, serial/gonum, reference/openblas",
		"peers f64 257":        "serial/packed, serial/gonum, reference/openblas, reference/numpy",
		"peers f64 1024":       "serial/packed, serial/gonum, parallel/packed 2, " + libraries,
		"peers f64 4096":       "serial/packed, parallel/packed 2, " + libraries,
		"peers f64 8192x64x64": "serial/packed, serial/gonum, reference/openblas, reference/numpy",

		"gf256 gf256 2x65536x4":      coded,
		"gf256 gf256 32x1048576x128": coded + ", cuda/tuned",
		"gf256 gf256 4x4096x10":      coded,
		"gf256 gf256 4x65536x10":     "serial/naive, serial/ikj, " + coded,
		"gf256 gf256 4x16777216x10":  coded + ", " + gpu,
		"gf256 gf256 4x268435456x10": "cuda/tuned",
	} {
		if rows := strings.Join(got[at], ", "); rows != want {
			t.Errorf("%s: %s, want %s", at, rows, want)
		}
	}
}

// TestTurnsOfProfiles plans experiments: their turns and rows, and which rows on ranks have timelines.
func TestTurnsOfProfiles(t *testing.T) {
	threads := schedules("parallel/collapse-atomic", "reference/openmp-collapse")
	threads[1].Role = gemm.Program
	ranks := variants([]gemm.Param{{Name: "ranks", Default: 2, Min: 1},
		{Name: "local", Default: "serial/packed", Choices: []string{"serial/naive", "serial/packed"}}},
		"mpi/p2p-rows", "mpi/scatter-rows", "mpi/scatter-blocks", "mpi/bcast-rows", "mpi/summa", "mpi/cannon", "mpi/25d")
	small := append(variants(nil, "serial/packed", "serial/gonum"), variants([]gemm.Param{{Name: "threads", Default: 1,
		Min: 1}}, "parallel/packed", "reference/openblas")...)
	for _, test := range []struct {
		profile    string
		processors int
		variants   []gemm.Variant
		experiment record.Experiment
		turns      int
		rows       int // of all turns
	}{
		// The kernel of 2024 and the same in C, for 5 sizes, 3 schedules (2 more at 512, and no clause in C) and 5
		// numbers of threads.
		{"figures", 16, threads, record.StrongScaling, 2 * 5, 2*5*(5*3+2) + 5},
		// Two schedules with six chunks at two sizes on 1 to 16 threads, and with four at one size on 16.
		{"figures", 2, threads, record.ChunkSizes, 2 * (2*5 + 1), 2 * (2*6*2*5 + 2*4)},
		// Both with one setting, at three sizes; at one of them, three schedules with three chunks too.
		{"figures", 2, threads, record.OpenMPLoops, 3*5 + 3*9 - 3, 2 * (3*5 + 3*9 - 3)},
		// Three ways to distribute rows, with the textbook loops, for each of 5 sizes and 5 numbers of ranks.
		{"figures", 16, ranks, record.Distributions, 5 * 5, 3 * 5 * 5},
		// Batches of four sizes on one thread and on two, with the library on both.
		{"peers", 2, small, record.Batches, 4, 4 * 4},
	} {
		cases := experimentsOf(profileOn(test.profile, test.processors)).planned(test.variants, []string{"f64"})
		turns := tally(cases, func(c Case) string {
			if c.Err() != nil {
				t.Errorf("%v: %v", c, c.Err())
			}
			if own := c.Experiment == record.Distributions; own != (c.Params["local"] == "serial/naive") {
				t.Errorf("%v is in the experiment %s", c, c.Experiment)
			}
			if c.Experiment != test.experiment {
				return ""
			}
			return cmp.Or(c.Turn, "none")
		})
		rows := 0
		for _, n := range turns {
			rows += n
		}
		if rows != test.rows || len(turns) != test.turns {
			t.Errorf("%s, %s: the turns have the rows %v, want %d turns and %d rows", test.profile, test.experiment, turns,
				test.turns, test.rows)
		}
	}
	// Timelines of a message, a collective call, broadcasts and shifts: on the most ranks, at one size.
	drawn := texts(experimentsOf(profileOn("full", 4)).planned(ranks, []string{"f64"}), drawn)
	slices.Sort(drawn)
	if want := []string{"mpi/cannon f64 1024 ranks=4", "mpi/p2p-rows f64 1024 ranks=4",
		"mpi/scatter-rows f64 1024 ranks=4", "mpi/summa f64 1024 ranks=4"}; !slices.Equal(drawn, want) {
		t.Errorf("timelines are of %q, want %q", drawn, want)
	}
}
