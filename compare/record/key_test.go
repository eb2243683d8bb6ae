package record_test

import (
	"encoding/json"
	"errors"
	"testing"

	"gemm/compare/plan"
	"gemm/compare/record"

	"gemm"
)

// TestIdentity checks that a row of a file of the first schema, and its timeline, belong to the same
// case, whatever Go types the decoder chose for the parameters' numbers.
func TestIdentity(t *testing.T) {
	request := plan.Request{
		Experiment: record.ChunkSizes,
		Variant:    gemm.Variant{Name: "test/x", Params: []gemm.Param{{Name: "chunk", Default: 1}}},
		Type:       "f64", Shape: gemm.Shape{M: 2, N: 3, K: 4}, Op: "tn", Alpha: 0.5, Beta: -1, LD: 2,
		Params: gemm.Params{"chunk": 16},
	}
	c := request.Case()
	const text = `{"host":"h","run":"r","experiment":"chunk","variant":"test/x","type":"f64","compute":"f64","op":"tn",
		"alpha":0.5,"beta":-1,"m":2,"n":3,"k":4,"lda":4,"ldb":5,"ldc":5,"params":{"chunk":16}}`
	var row record.Record
	var line record.Trace
	for _, into := range []any{&row, &line} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	want := c.Key.On("h").ID(c.Params)
	if row.ID() != want || line.ID() != want {
		t.Errorf("the row is %v, its timeline %v, the case %v", row.ID(), line.ID(), want)
	}
	for name, change := range map[string]func(*plan.Request){
		"experiment": func(r *plan.Request) { r.Experiment = record.MainLadder },
		"variant":    func(r *plan.Request) { r.Variant.Name = "test/y" },
		"build":      func(r *plan.Request) { r.Build = "v1" },
		"hosts":      func(r *plan.Request) { r.Hosts = 2 },
		"type":       func(r *plan.Request) { r.Type = "f32" },
		"shape":      func(r *plan.Request) { r.K = 5 },
		"op":         func(r *plan.Request) { r.Op = "nn" },
		"alpha":      func(r *plan.Request) { r.Alpha = 1 },
		"beta":       func(r *plan.Request) { r.Beta = 0 },
		"ld":         func(r *plan.Request) { r.LD = 0 },
		"params":     func(r *plan.Request) { r.Params = gemm.Params{"chunk": 17} },
	} {
		other := request
		change(&other)
		if other.Case().ID() == c.ID() {
			t.Errorf("another %s is the same row", name)
		}
	}
	for name, leading := range map[string]*int{"lda": &row.LDA, "ldb": &row.LDB, "ldc": &row.LDC} {
		if *leading++; row.ID() == want {
			t.Errorf("another %s is the same row", name)
		}
		*leading--
	}
	var again record.Record
	data, err := json.Marshal(row)
	if err = errors.Join(err, json.Unmarshal(data, &again)); err != nil || again.ID() != want {
		t.Errorf("written and read again the row is %v, %v", again.ID(), err)
	}
}
