package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run/turn"
	"gemm/compare/schedule"
	"gemm/gemmtest"
	"gemm/internal/ipc"
)

// scripted is a process that writes the text and ends; if the error is context.Canceled, when it is stopped.
type scripted struct {
	process
	text string
	err  error
}

func (s scripted) run(ctx context.Context, _ []byte, out io.Writer) error {
	_, err := io.WriteString(out, s.text)
	if errors.Is(s.err, context.Canceled) {
		<-ctx.Done()
	}
	return errors.Join(err, s.err)
}

// kept is a Sink that keeps rows.
type kept struct {
	began int
	rows  []record.Record
	err   error
}

func (k *kept) Begin([]plan.Case) { k.began++ }
func (k *kept) Keep(rows []record.Record, _ []record.Trace) error {
	k.rows = append(k.rows, rows...)
	return k.err
}
func (*kept) Put(record.Document) error { return nil }

// followed follows a process that writes the text about three cases, of which two are in a turn.
func followed(t *testing.T, p *Executors, of process, text string, err error, to *kept) (*schedule.End, error) {
	t.Helper()
	var cases []plan.Case
	for n, turn := range []string{"x", "x", ""} {
		v := gemm.Variant{Name: "cuda/a", Location: gemm.OnGPU}
		c := plan.Request{Variant: v, Type: "f64", Shape: gemm.Cube(8 + n), Turn: turn}.Case()
		row, err := json.Marshal(c.Row())
		gemmtest.Must(t, err)
		text = strings.ReplaceAll(text, fmt.Sprint("ROW", n), "row 0 "+string(row))
		cases = append(cases, c)
	}
	step := schedule.Step{Executor: schedule.Executor{Kind: schedule.GPU}, Cases: cases}
	if _, ok := of.(ranks); ok {
		step.Executor.Kind = schedule.Ranks
	}
	return p.follow(t.Context(), step, scripted{of, text, err}, to)
}

// TestMessageSequences checks how a process ended, and which rows it left, by what it wrote. In this test time passes
// when nothing else happens.
func TestMessageSequences(t *testing.T) {
	killed := ipc.ExitError{Name: "gemm-cuda", Status: "signal killed"}
	for name, test := range map[string]struct {
		text  string
		err   error
		want  string // of the end
		began int
		rows  int
	}{
		"done":       {"now 0 -1\nnow 0 0\nROW0\nnow 0 1\nROW1\nnow 0 2\nROW2\ndone 0 true\n", nil, "<nil>", 2, 3},
		"done early": {"now 0 0\nROW1\ndone 0 true\n", nil, "<nil>", 1, 1},
		"ended":      {"now 0 0\nROW1\n", nil, "<nil>", 1, 1},
		"killed":     {"now 0 2\nROW0\n", killed, "2 false error gemm-cuda ended with signal killed", 1, 1},
		"half a line": {"now 0 0\nROW0\nrow 0 {", ipc.ExitError{Name: "gemm-cuda"},
			`0 false error gemm-cuda: the end is in a line, "row 0 {"`,
			1, 1},
		"half a row":  {"now 0 0\nROW0\nrow 0 {", killed, "0 false error gemm-cuda ended with signal killed", 1, 1},
		"unavailable": {"", gemm.Unavailablef("no GPU"), "-1 false unavailable no GPU", 0, 0},
		"twice": {"now 0 1\nROW0\nROW0\nROW1\ndone 0 true\n", context.Canceled,
			"1 false error gemm-cuda wrote a row that was not requested: ", 1, 1},
		"no case": {"now 0 3\nROW0\n", nil, `-1 false error gemm-cuda wrote something that is not a message: "now 3"`, 0, 0},
		"rubbish": {"now 0 0\nsegment 0x7f: 12 kernels\nROW0\n", context.Canceled,
			`0 false error gemm-cuda wrote something that is not a message: "segment 0x7f: 12 kernels"`, 1, 0},
		"another field": {"now 0 0\nrow 0 {\"then\":1}\n", context.Canceled,
			`0 false error gemm-cuda wrote something that is not a message: "row {\"then\":1}"`, 1, 0},
		"another case": {"now 0 1\nrow 0 {\"variant\":\"cuda/z\"}\n", context.Canceled,
			`1 false error gemm-cuda wrote a row that was not requested: "row {\"variant\":\"cuda/z\"}"`, 1, 0},
		"mute": {"", context.Canceled, "-1 true error gemm-cuda hangs: it shows no sign of life", 0, 0},
		"stuck": {"now 0 -1\nnow 0 0\nROW0\nnow 0 1\n", context.Canceled,
			"1 true error gemm-cuda hangs: it shows no sign of life", 1, 1},
		"does not end": {"now 0 2\nROW0\nROW1\nROW2\nnow 0 2\n", context.Canceled,
			"2 true error gemm-cuda hangs: it shows no sign of life", 1, 3},
		"gone": {"now 0 0\ngone 0 \"host a\"\n", killed,
			"0 false error gemm-cuda ended with signal killed, host a is gone", 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, to := &Executors{Bench: &turn.Bench{Budget: plan.Budget{Timeout: time.Minute}}}, &kept{}
			end, err := followed(t, p, worker{p}, test.text, test.err, to)
			got := "<nil>"
			if end != nil {
				got = fmt.Sprint(end.Case, " ", end.Hung, " ", end.Status, " ", end.Reason)
				if end.Unreachable != nil {
					got += fmt.Sprintf(", %v is gone", end.Unreachable)
				}
			}
			if err != nil || !strings.HasPrefix(got, test.want) || to.began != test.began || len(to.rows) != test.rows {
				t.Errorf("%s: %s, %v, %d turns begun, %d rows; want %s, %d, %d", name, got, err, to.began, len(to.rows),
					test.want, test.began, test.rows)
			}
		})
	}
	full := &kept{err: errors.New("the disk is full")}
	p := &Executors{Bench: &turn.Bench{}}
	_, err := followed(t, p, worker{p}, "ROW0\nROW1\n", context.Canceled, full)
	if !errors.Is(err, full.err) || len(full.rows) != 1 {
		t.Errorf("%v after %d rows, want that %v after one", err, len(full.rows), full.err)
	}
}

// TestSilentRanks has ranks that do not begin, and that stop in the first case.
func TestSilentRanks(t *testing.T) {
	for text, want := range map[string]string{
		"":          "the ranks have not begun within 2m0s: use fewer ranks",
		"now 0 0\n": "rank 0 hangs: it shows no sign of life",
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &Executors{Bench: &turn.Bench{Budget: plan.Budget{Timeout: time.Minute}}}
			end, err := followed(t, p, ranks{p, 2}, text, context.Canceled, &kept{})
			if err != nil || end == nil || !end.Hung || end.Reason.Error() != want {
				t.Errorf("after %q: %+v, %v; want %s", text, end, err, want)
			}
		})
	}
}

// TestWorkerOfAnotherRevision checks that the other revision is reported once, and is in each row.
func TestWorkerOfAnotherRevision(t *testing.T) {
	const want = "gemm-cuda is of revision b and this program of a: build both from one source"
	for _, test := range []struct {
		mine, its string
		want      []string
	}{{"a", "a", nil}, {"a", "b", []string{want}}, {"a", record.UnknownGit, nil}, {record.UnknownGit, "b", nil}} {
		var warned, noted []string
		p := &Executors{Bench: &turn.Bench{}, Info: record.RunInfo{Git: test.mine},
			Processes: Processes{Warn: func(text string) { warned = append(warned, text) }}}
		found := fmt.Sprintf("found 0 {\"run\":{\"git\":%q}}\n", test.its)
		to := &kept{}
		end, err := followed(t, p, worker{p}, found+found+"ROW0\n", nil, to)
		if end != nil || err != nil || len(to.rows) != 1 {
			t.Fatal(end, err, to.rows)
		}
		for _, n := range to.rows[0].Warnings {
			noted = append(noted, n.Text)
		}
		if !slices.Equal(noted, test.want) || !slices.Equal(warned, test.want) {
			t.Errorf("%q and %q: warned of %q, the row of %q", test.mine, test.its, warned, noted)
		}
	}
}
