package comm

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/mpi/plan"
)

// lower has MPI count up to n until the test ends.
func lower(n int) (restore func()) {
	before := limit
	limit = n
	return func() { limit = before }
}

func TestLayout(t *testing.T) {
	for _, x := range []struct {
		limit, m, n, stride int
		want                layout
	}{
		{math.MaxInt32, 3, 4, 4, layout{shape: elements, count: 12}},
		{math.MaxInt32, 3, 4, 9, layout{vector, 3, 4, 9}},
		{math.MaxInt32, 1, 4, 9, layout{shape: elements, count: 4}},
		{math.MaxInt32, 3, 1, 1, layout{shape: elements, count: 3}},
		{math.MaxInt32, 3, 1, 2, layout{vector, 3, 1, 2}},
		{math.MaxInt32, 0, 4, 4, layout{}},
		{math.MaxInt32, 4, 0, 0, layout{}},
		{math.MaxInt32, 4, 0, 7, layout{}},
		{math.MaxInt32, 0, 0, 0, layout{}},
		{12, 3, 4, 4, layout{shape: elements, count: 12}},
		{11, 3, 4, 4, layout{shape: rows, count: 3, cols: 4, stride: 4}},
		{11, 3, 4, 5, layout{vector, 3, 4, 5}},
		{math.MaxInt32, math.MaxInt32, 1, 1, layout{shape: elements, count: math.MaxInt32}},
		{math.MaxInt32, math.MaxInt32, 2, 2, layout{shape: rows, count: math.MaxInt32, cols: 2, stride: 2}},
		{math.MaxInt32, 1 << 16, 1 << 15, 1 << 15, layout{shape: rows, count: 1 << 16, cols: 1 << 15, stride: 1 << 15}},
		{math.MaxInt32, 1<<16 - 1, 1 << 15, 1 << 15, layout{shape: elements, count: (1<<16 - 1) << 15}},
	} {
		func() {
			defer lower(x.limit)()
			got, err := layoutOf(x.m, x.n, x.stride)
			if err != nil || got != x.want {
				t.Errorf("layoutOf(%d, %d, %d) with limit %d: %+v, %v, want %+v", x.m, x.n, x.stride, x.limit, got, err, x.want)
			}
		}()
	}
}

func TestLayoutTooLarge(t *testing.T) {
	defer lower(10)()
	for _, x := range [][3]int{{11, 2, 2}, {2, 11, 11}, {2, 3, 11}} {
		_, err := layoutOf(x[0], x[1], x[2])
		if err == nil || !strings.Contains(err.Error(),
			fmt.Sprintf("%d×%d elements with stride %d: MPI counts up to 10", x[0], x[1], x[2])) {
			t.Errorf("layoutOf%v: %v, want an error with the values", x, err)
		}
	}
	long := make([]float32, 11)
	c := &Comm{size: 1, numbers: []int{0}, hosts: []int{0}, traffic: &Traffic{}}
	for name, err := range map[string]error{
		"Send":             Send(c, gemm.Matrix[float32]{Rows: 1, Cols: 11, Stride: 11, Data: long}, 0, 1),
		"ScatterJoined":    ScatterJoined(c, 0, nil, long, long[:2]),
		"the second block": ScatterJoined(c, 0, nil, long[:2], long),
		"Gather":           Gather(c, 0, long, nil),
		"one part of a sum": ReduceScatter(c, gemm.Matrix[float32]{Rows: 2, Cols: 6, Stride: 6, Data: make([]float32, 12)},
			[]plan.Span{{Lo: 0, Hi: 2}}, gemm.Matrix[float32]{}),
		"all parts of a sum": ReduceScatter(&Comm{size: 2, numbers: []int{0, 1}, hosts: []int{0, 0},
			traffic: &Traffic{}},
			gemm.Matrix[float32]{Rows: 2, Cols: 6, Stride: 6, Data: make([]float32, 12)},
			[]plan.Span{{Lo: 0, Hi: 1}, {Lo: 1, Hi: 2}}, gemm.Matrix[float32]{}),
		"the root's rows": ScatterRows(c, 0, gemm.Matrix[float32]{Rows: 1, Cols: 2, Stride: 11, Data: long},
			[]plan.Span{{Lo: 0, Hi: 1}}, gemm.NewMatrix[float32](1, 2)),
		"the root's columns": GatherCols(c, 0, gemm.NewMatrix[float32](1, 2),
			gemm.Matrix[float32]{Rows: 1, Cols: 2, Stride: 11, Data: long}, []plan.Span{{Lo: 0, Hi: 2}}),
	} {
		if err == nil || !strings.Contains(err.Error(), "MPI counts up to 10") ||
			!strings.Contains(err.Error(), "11") && !strings.Contains(err.Error(), "12") {
			t.Errorf("%s: %v, want an error with the value and the limit", name, err)
		}
	}
	if *c.traffic != (Traffic{}) {
		t.Errorf("what was refused is counted: %+v", *c.traffic)
	}
}

func TestByWidth(t *testing.T) {
	var got []string
	err := byWidth(plan.Spans(5, 4), func(width int, counts, from []int) error {
		got = append(got, fmt.Sprint(width, counts, from))
		return nil
	})
	want := []string{"2 [1 0 0 0] [0 0 0 0]", "1 [0 1 1 1] [0 2 3 4]"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("5 columns of 4 ranks: %q, %v, want %q", got, err, want)
	}
	if err := byWidth(plan.Spans(0, 4),
		func(int, []int, []int) error { t.Error("a call without columns"); return nil }); err != nil {
		t.Error(err)
	}
}
