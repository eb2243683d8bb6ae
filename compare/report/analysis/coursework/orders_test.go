package coursework

import (
	"testing"

	"gemm/compare/record"

	"gemm"
)

// order is a timed row of an order with its interval and the traffic that the model predicts.
func order(name string, seconds, spread float64, l1, last float64) Order {
	r := record.Record{Status: record.OK, Turn: "orders", Median: record.Number(seconds),
		CI:        &[2]float64{seconds / spread, seconds * spread},
		Predicted: &record.Predicted{L1Traffic: l1, L2Traffic: last, Traffic: last}}
	r.Variant, r.Type, r.Shape, r.Params = "serial/loops", "f64", gemm.Cube(64), gemm.Params{"order": name}
	for i := range 10 {
		r.Samples = append(r.Samples, seconds*(1+1e-3*float64(i-5)))
	}
	return Order{Record: r, Name: name}
}

// TestContests compares orders, of which one has no time.
func TestContests(t *testing.T) {
	wrong := order("kij", 1, 1, 1, 1)
	wrong.Status = record.Wrong
	orders := []Order{order("ijk", 4, 1.01, 30, 10), order("ikj", 1, 1.01, 10, 10), order("jik", 4.1, 1.001, 30, 10),
		order("jki", 8, 1.01, 40, 40), wrong, order("kji", 9, 1.2, 40, 40)}
	type told struct {
		slow, quick    string
		says           string
		alike, chained bool
		cache          string
		more           float64
	}
	want := []told{
		{"ijk", "ikj", "faster", false, true, "l1", 3},
		{"jki", "ikj", "faster", false, false, "last", 4},
		{"jik", "ijk", "level", true, false, "", 0},
		{"kji", "jki", "open", true, false, "", 0},
	}
	got := Ordered(orders).Contests()
	if len(got) != len(want) {
		t.Fatalf("%d contests, want %d", len(got), len(want))
	}
	for i, c := range got {
		if x := (told{c.Slow.Name, c.Quick.Name, c.Says, c.Alike, c.Chained, c.Cache, c.More}); x != want[i] {
			t.Errorf("%+v, want %+v", x, want[i])
		}
	}
	if got := Ordered(orders[:1]).Contests(); len(got) != 0 {
		t.Errorf("one order: %+v", got)
	}
	alone := Ordered{order("ijk", 4, 1.01, 1, 1), {Record: func() record.Record {
		r := order("ikj", 1, 1.01, 1, 1).Record
		r.Turn, r.Predicted = "another", nil
		return r
	}(), Name: "ikj"}}.Contests()
	if len(alone) != 1 || alone[0].Says != "few" || alone[0].Cache != "" {
		t.Errorf("orders that were not interleaved: %+v", alone)
	}
}
