package compare

import (
	"encoding/json"
	"testing"

	"gemm"
)

// TestIdentity checks that a row of a file of the first schema, and its timeline, belong to the same
// case, whatever Go types the decoder chose for the parameters' numbers.
func TestIdentity(t *testing.T) {
	request := Request{
		Experiment: ChunkSizes, Variant: gemm.Variant{Name: "test/x", Params: []gemm.Param{{Name: "chunk", Default: 1}}},
		Type: "f64", Shape: gemm.Shape{M: 2, N: 3, K: 4}, Op: "tn", Alpha: 0.5, Beta: -1, LD: 2,
		Params: gemm.Params{"chunk": 16},
	}
	c := request.Case()
	const text = `{"host":"h","run":"r","experiment":"chunk","variant":"test/x","type":"f64","compute":"f64","op":"tn",
		"alpha":0.5,"beta":-1,"m":2,"n":3,"k":4,"lda":4,"ldb":5,"ldc":5,"params":{"chunk":16}}`
	var row Record
	var line Trace
	for _, into := range []any{&row, &line} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	want := c.Key.of("h").with(c.Params)
	if row.identity() != want || line.identity() != want {
		t.Errorf("the row is %v, its timeline %v, the case %v", row.identity(), line.identity(), want)
	}
	for name, change := range map[string]func(*Request){
		"experiment": func(r *Request) { r.Experiment = MainLadder },
		"variant":    func(r *Request) { r.Variant.Name = "test/y" },
		"build":      func(r *Request) { r.Build = "v1" },
		"hosts":      func(r *Request) { r.Hosts = 2 },
		"type":       func(r *Request) { r.Type = "f32" },
		"shape":      func(r *Request) { r.K = 5 },
		"op":         func(r *Request) { r.Op = "nn" },
		"alpha":      func(r *Request) { r.Alpha = 1 },
		"beta":       func(r *Request) { r.Beta = 0 },
		"ld":         func(r *Request) { r.LD = 0 },
		"params":     func(r *Request) { r.Params = gemm.Params{"chunk": 17} },
	} {
		other := request
		change(&other)
		if other.Case().identity() == c.identity() {
			t.Errorf("another %s is the same row", name)
		}
	}
	if data, err := json.Marshal(row); err != nil || !json.Valid(data) {
		t.Errorf("%s, %v", data, err)
	} else {
		var again Record
		if err := json.Unmarshal(data, &again); err != nil || again.identity() != want {
			t.Errorf("written and read again the row is %v, %v", again.identity(), err)
		}
	}
}
