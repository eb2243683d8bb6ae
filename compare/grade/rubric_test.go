package grade

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/note"
	"gemm/serial"
)

const text = `
kernel: {abi: rowmajor, function: f}
sizes:
  public: [64, 65, 8x64x8]
  hidden: {seed: 1, count: 2, from: 100, to: 101}
rubric:
- {points: 10, right: public}
- {points: 10, right: hidden}
- {points: 5, right: odd, whole: true, step: 0.5}
- {points: 20, speed: peak, from: 0.1, to: 0.5}
- {points: 8, speed: serial/naive, from: 1, to: 9, step: 2}
- {points: 4, speed: rank, from: 0, to: 1}
`

// TestMark marks rows: each shape takes a second at a peak of 10 GFLOP/s.
func TestMark(t *testing.T) {
	a, err := Read("a.yaml", []byte(text), serial.Variants())
	gemmtest.Must(t, err)
	result := func(name string, gflops, spread float64, statuses map[gemm.Shape]record.Status) (r Result) {
		r.Submission = name
		for _, s := range a.shapes(true) {
			row := record.Record{Key: record.Key{Variant: r.name(), Problem: record.Problem{Shape: s.Shape}},
				Status: record.OK, Gflops: record.Number(gflops), Median: 1, Ceiling: 10, CI: &[2]float64{1 - spread, 1 + spread}}
			if bad, ok := statuses[s.Shape]; ok {
				row.Status, row.Reason = bad, note.Note{Text: "so it is"}
			}
			other := row
			other.Variant, other.Status, other.Gflops = "serial/naive", record.OK, 1
			r.Rows = append(r.Rows, row, other)
		}
		return r
	}
	odd := map[gemm.Shape]record.Status{gemm.Cube(65): record.Wrong}
	for _, test := range []struct {
		results []Result
		hidden  bool
		want    string // of the first: points of each criterion
	}{
		{[]Result{result("a", 5, 0, nil)}, true, "10 10 5 20 4 0"},
		{[]Result{result("a", 5, 0, nil)}, false, "10 0 5 20 4 0"},
		{[]Result{result("a", 20, 0, nil)}, true, "10 10 5 20 8 0"},
		{[]Result{result("a", 3, 0, nil)}, true, "10 10 5 10 2 0"},
		{[]Result{result("a", 0.5, 0, nil)}, true, "10 10 5 0 0 0"},
		{[]Result{result("a", 5, 0, odd)}, true, "7 10 0 0 0 0"},
		{[]Result{result("a", math.NaN(), 0, nil)}, true, "10 10 5 0 0 0"},
		{[]Result{result("a", 5, 0, nil), result("b", 6, 0, nil), result("c", 4, 0, nil)}, true, "10 10 5 20 4 2"},
		{[]Result{result("a", 5, 0.2, nil), result("b", 6, 0, nil), result("c", 9, 0, odd)}, true, "10 10 5 20 4 4"},
		{[]Result{{Submission: "a", Fault: note.Note{Text: "is empty"}}}, true, "0 0 0 0 0 0"},
	} {
		a.mark(test.results, test.hidden)
		var points []string
		sum, r := 0.0, test.results[0]
		for _, m := range r.Marks {
			points = append(points, fmt.Sprint(m.Points))
			sum += m.Points
			if m.Points < m.Most && len(m.Why) == 0 && m.Value == 0 {
				t.Errorf("%s: nothing says why %+v", test.want, m)
			}
		}
		if got := strings.Join(points, " "); got != test.want || r.Points != sum {
			t.Errorf("%v points, sum %v, want %s: %+v", got, r.Points, test.want, r.Marks)
		}
	}
}

// TestWrongAssignments wants errors of one line with the line.
func TestWrongAssignments(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"abi", "aby", `line 2: there is no key "aby"; the nearest is "abi"`},
		{"rowmajor", "rowmayor", `line 2: there is no ABI "rowmayor"; the nearest is "rowmajor"`},
		{", function: f", "", "line 2: kernel.function: is missing: the ABI rowmajor has no usual one"},
		{"65", "0", `line 4: sizes.public[2]: "0": must be a positive integer n, or MxNxK`},
		{"8x64x8", "8", "line 9: rubric[3].right: no shape is odd"},
		{"from: 100", "from: 102", "line 5: sizes.hidden: must have count, and from and to with 1 ≤ from ≤ to"},
		{"right: hidden", "right: hiden", `line 8: there is no class "hiden"; the nearest is "hidden"`},
		{"speed: peak", "speed: serial/packt", `line 10: there is no speed "serial/packt"; the nearest is "serial/packed"`},
		{"to: 0.5", "to: 0.1", "line 10: rubric[4]: from and to must be ratios with 0 ≤ from < to"},
		{"step: 2", "step: -2", "line 11: rubric[5]: points and step must be positive"},
		{"right: odd", "right: odd, speed: peak", "line 9: rubric[3]: must have right or speed, and not both"},
		{"rubric", "rules: {memory: 3}\nrubric", `line 6: rules.memory: "3" must be 64MiB or more, such as 2GiB`},
		{"rubric", "rules: {time: 3}\nrubric", "line 6: cannot unmarshal !!int `3` into time.Duration"},
	} {
		changed := strings.Replace(text, test.old, test.new, 1)
		if test.old == "8x64x8" {
			changed = strings.ReplaceAll(strings.ReplaceAll(changed, "65", "66"), "to: 101", "to: 100")
		}
		_, err := Read("a.yaml", []byte(changed), serial.Variants())
		if err == nil || !strings.HasSuffix(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "a.yaml: ") {
			t.Errorf("%s: %v, want %s", test.new, err, test.want)
		}
	}
}
