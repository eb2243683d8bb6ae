package schedule

import (
	"errors"
	"fmt"
	"testing"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
)

// TestRecovery plants ends of the worker of a GPU, which has three cases in two turns.
func TestRecovery(t *testing.T) {
	const (
		all   = "gemm-cuda g[cuda/a cuda/b] h[cuda/c]"
		a, b  = "cuda/a ok, g", "cuda/b ok, g"
		c     = "cuda/c ok, h"
		again = "; gemm-cuda was started again: "
		apart = "; measured apart: its turn was lost when cuda/a f64 8 ended gemm-cuda: boom"
	)
	hung := died(1)
	hung.Hung = true
	lost := died(1)
	lost.Unreachable = errors.New("host node7 does not answer any more")
	for _, test := range []struct {
		name      string
		starts    []start
		log, rows []string
		err       string
	}{
		{"done", nil, []string{all}, []string{a, b, c}, "<nil>"},
		{"in the first of a turn", []start{{0, died(0)}},
			[]string{all, "cuda/a is error: boom", "gemm-cuda [cuda/b] h[cuda/c]"},
			[]string{"cuda/a error, g, boom", "cuda/b ok" + apart, c}, "<nil>"},
		{"in the last of a turn", []start{{1, died(1)}},
			[]string{all, "cuda/b is error: boom", "gemm-cuda h[cuda/c]"}, []string{a, "cuda/b error, g, boom", c}, "<nil>"},
		{"after the row of its case", []start{{2, died(1)}}, []string{all, "gemm-cuda h[cuda/c]"}, []string{a, b, c},
			"<nil>"},
		{"in the last case", []start{{2, died(2)}}, []string{all, "cuda/c is error: boom"},
			[]string{a, b, "cuda/c error, h, boom"}, "<nil>"},
		{"after all rows", []start{{3, died(2)}}, []string{all}, []string{a, b, c}, "<nil>"},
		{"hung", []start{{1, hung}}, []string{all, "cuda/b is timeout: boom", "gemm-cuda h[cuda/c]"},
			[]string{a, "cuda/b timeout, g, boom", c}, "gemm-cuda hung in cuda/b f64 8 and had to be ended"},
		{"hosts are unreachable", []start{{1, lost}},
			[]string{all, "cuda/b is error: " + lost.Unreachable.Error(), "cuda/c is error: " + lost.Unreachable.Error()},
			[]string{a, "cuda/b error, g, " + lost.Unreachable.Error(), "cuda/c error, h, " + lost.Unreachable.Error()},
			"<nil>"},
		{"no row", []start{{2, nil}}, []string{all, "cuda/c is error: gemm-cuda ended and left no row"},
			[]string{a, b, "cuda/c error, h, gemm-cuda ended and left no row"}, "<nil>"},
		{"not begun, once", []start{{0, died(-1)}}, []string{all, "after 500ms " + all}, []string{a + again + "boom", b, c},
			"<nil>"},
		{"not begun, always", []start{{0, died(-1)}, {0, died(-1)}},
			[]string{all, "after 500ms " + all, "cuda/a is error: boom", "cuda/b is error: boom", "cuda/c is error: boom"},
			[]string{"cuda/a error, g, boom", "cuda/b error, g, boom", "cuda/c error, h, boom"}, "<nil>"},
		{"unavailable", []start{{0, absentEnd()}},
			[]string{all, "cuda/a is unavailable: no driver", "cuda/b is unavailable: no driver",
				"cuda/c is unavailable: no driver"},
			[]string{"cuda/a unavailable, g, no driver", "cuda/b unavailable, g, no driver", "cuda/c unavailable, h, no driver"},
			"<nil>"},
		{"unavailable after it has worked", []start{{1, died(1)}, {0, absentEnd()}, {0, absentEnd()}, {0, died(-1)}},
			[]string{all, "cuda/b is error: boom", "gemm-cuda h[cuda/c]", "after 500ms gemm-cuda h[cuda/c]",
				"after 1s gemm-cuda h[cuda/c]", "after 2s gemm-cuda h[cuda/c]"},
			[]string{a, "cuda/b error, g, boom", c + again + "boom"}, "<nil>"},
		{"unavailable for good", []start{{1, died(1)}, {0, absentEnd()}, {0, absentEnd()}, {0, absentEnd()}, {0,
			absentEnd()}},
			[]string{all, "cuda/b is error: boom", "gemm-cuda h[cuda/c]", "after 500ms gemm-cuda h[cuda/c]",
				"after 1s gemm-cuda h[cuda/c]", "after 2s gemm-cuda h[cuda/c]", "cuda/c is unavailable: no driver"},
			[]string{a, "cuda/b error, g, boom", "cuda/c unavailable, h, no driver"}, "<nil>"},
		{"not begun, before and after a case", []start{{0, died(-1)}, {1, died(1)}, {0, died(-1)}},
			[]string{all, "after 500ms " + all, "cuda/b is error: boom", "gemm-cuda h[cuda/c]",
				"after 500ms gemm-cuda h[cuda/c]"},
			[]string{a + again + "boom", "cuda/b error, g, boom", c + again + "boom"}, "<nil>"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := world{rules: Rules{GPU: true}, measure: failing(test.starts...)}
			err := w.work(t, caseOfName("cuda/a", "g", nil), caseOfName("cuda/b", "g", nil), caseOfName("cuda/c", "h", nil))
			if fmt.Sprint(err) != test.err {
				t.Errorf("at the end: %v, want %s", err, test.err)
			}
			wants(t, "steps", w.log, test.log...)
			wants(t, "rows", w.rows(), test.rows...)
		})
	}
}

// TestHungAfterItsRow has ranks end after a row that took too long: no other row is stored, and the first such case is
// named at the end.
func TestHungAfterItsRow(t *testing.T) {
	starts := 0
	w := world{rules: Rules{Ranks: true}}
	w.measure = func(step Step) ([]record.Record, Outcome) {
		if starts++; starts == 2 {
			return nil, Outcome{End: died(-1)}
		}
		return []record.Record{row(step.Cases[0], record.Timeout, 0)}, Outcome{End: died(0)}
	}
	ranks := gemm.Params{"ranks": 2}
	err := w.work(t, caseOfName("mpi/a", "", ranks), caseOfName("mpi/b", "", ranks), caseOfName("mpi/c", "", ranks))
	if fmt.Sprint(err) != "the ranks hung in mpi/a f64 8 ranks=2 and had to be ended" {
		t.Error(err)
	}
	wants(t, "steps", w.log, "2 ranks [mpi/a] [mpi/b] [mpi/c]", "2 ranks [mpi/b] [mpi/c]",
		"after 500ms 2 ranks [mpi/b] [mpi/c]",
		"2 ranks [mpi/c]")
	wants(t, "rows", w.rows(), "mpi/a timeout", "mpi/b timeout; the ranks were started again: boom", "mpi/c timeout")
}

// TestGroups has cases of all executors, and the same ones without the executors.
func TestGroups(t *testing.T) {
	two := gemm.Params{"ranks": 2}
	built := func(name, build string) plan.Case {
		r := sized(name, "", 8, nil)
		r.Build = build
		return r.Case()
	}
	cases := []plan.Case{
		caseOfName("serial/a", "", nil), caseOfName("serial/b", "t", nil), caseOfName("serial/c", "t", nil),
		caseOfName("mpi/a", "m", two), caseOfName("mpi/b", "n", nil), caseOfName("mpi/c", "m", two),
		caseOfName("cuda/a", "g", nil),
		built("serial/d", "v1"), built("serial/e", "v1"), built("serial/f", "v3"),
		caseOfName("cuda/b", "g", nil), caseOfName("serial/h", "", nil),
	}
	w := world{rules: Rules{Ranks: true, GPU: true, Builds: true}}
	if err := w.work(t, cases...); err != nil {
		t.Error(err)
	}
	wants(t, "with all executors", w.log, "this process [serial/a]", "this process t[serial/b serial/c]",
		"1 ranks n[mpi/b]",
		"2 ranks m[mpi/a mpi/c]", "build v1 [serial/d] [serial/e]", "build v3 [serial/f]", "this process [serial/h]",
		"gemm-cuda g[cuda/a cuda/b]")
	w = world{}
	if err := w.work(t, cases...); err != nil {
		t.Error(err)
	}
	wants(t, "in this process", w.log, "this process [serial/a]", "this process t[serial/b serial/c]",
		"this process m[mpi/a]",
		"this process n[mpi/b]", "this process m, part 2[mpi/c]", "this process g[cuda/a]", "this process [serial/d]",
		"this process [serial/e]", "this process [serial/f]", "this process g, part 2[cuda/b]", "this process [serial/h]")
}
