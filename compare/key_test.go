package compare

import (
	"encoding/json"
	"testing"

	"gemm"
)

// A row that a file of the first schema has, and its timeline, are those of the case, whatever
// the decoder makes of the parameters' numbers.
func TestIdentity(t *testing.T) {
	c := Case{
		Experiment: ChunkSizes, Variant: gemm.Variant{Name: "test/x", Params: []gemm.Param{{Name: "chunk", Default: 1}}},
		Type: "f64", Shape: gemm.Shape{M: 2, N: 3, K: 4}, Op: "tn", Alpha: 0.5, Beta: -1, LD: 2, Params: gemm.Params{"chunk": 16},
	}
	const text = `{"host":"h","run":"r","experiment":"chunk","variant":"test/x","type":"f64","compute":"f64","op":"tn",
		"alpha":0.5,"beta":-1,"m":2,"n":3,"k":4,"lda":4,"ldb":5,"ldc":5,"params":{"chunk":16}}`
	var row Record
	var line Trace
	for _, into := range []any{&row, &line} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	want := c.key().of("h").with(c.Params)
	if row.identity() != want || line.identity() != want {
		t.Errorf("the row is %v, its timeline %v, the case %v", row.identity(), line.identity(), want)
	}
	for name, change := range map[string]func(*Case){
		"experiment": func(c *Case) { c.Experiment = MainLadder },
		"variant":    func(c *Case) { c.Variant.Name = "test/y" },
		"build":      func(c *Case) { c.Build = "v1" },
		"type":       func(c *Case) { c.Type = "f32" },
		"shape":      func(c *Case) { c.K = 5 },
		"op":         func(c *Case) { c.Op = "nn" },
		"alpha":      func(c *Case) { c.Alpha = 1 },
		"beta":       func(c *Case) { c.Beta = 0 },
		"ld":         func(c *Case) { c.LD = 0 },
		"params":     func(c *Case) { c.Params = gemm.Params{"chunk": 17} },
	} {
		other := c
		change(&other)
		if other.identity() == c.identity() {
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
