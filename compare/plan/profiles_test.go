package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"gemm"
	"gemm/compare/record"
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
