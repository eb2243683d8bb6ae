package record_test

import (
	"testing"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/record"
)

// TestRecursionsOfOldRecords names the variant that computed a row of schema 1, on both sides of the cut-off.
func TestRecursionsOfOldRecords(t *testing.T) {
	cutoff := func(n int, more ...string) gemm.Params {
		p := gemm.Params{"cutoff": n}
		for _, leaf := range more {
			p["leaf"] = leaf
		}
		return p
	}
	const strassen, packed = "serial/strassen", "serial/packed"
	for _, test := range []struct {
		name, variant string
		m, n, k       int
		asked, ran    gemm.Params
		want          string
	}{
		{"above the cut-off", strassen, 501, 501, 501, nil, cutoff(500, packed), ""},
		{"at the cut-off", strassen, 500, 500, 500, nil, cutoff(500), packed},
		{"winograd below the cut-off", "serial/winograd", 64, 64, 64, nil, cutoff(500), packed},
		{"one large dimension does not divide", strassen, 4096, 64, 4096, nil, cutoff(500), packed},
		{"a vector is not divided", strassen, 4096, 4096, 1, nil, cutoff(1), packed},
		{"another leaf", strassen, 64, 64, 64, nil, cutoff(500, "serial/naive"), "serial/naive"},
		{"asked for", strassen, 64, 64, 64, cutoff(64), nil, packed},
		{"on a team", "parallel/strassen", 64, 64, 64, nil, cutoff(1000), "parallel/packed"},
		{"divided by its largest dimension", "serial/divide", 64, 129, 64, nil, cutoff(128), ""},
		{"not divided", "serial/divide", 128, 128, 128, nil, cutoff(128), "serial/hinted"},
		{"what the record says", strassen, 4096, 4096, 4096, nil, gemm.Params{"cutoff": 500, "ran": packed}, packed},
		{"no cut-off", strassen, 64, 64, 64, nil, nil, ""},
		{"a cut-off of another variant", packed, 64, 64, 64, nil, cutoff(500), ""},
	} {
		r := record.Record{Params: test.asked, Resolved: test.ran}
		r.Variant, r.Shape = test.variant, gemm.Shape{M: test.m, N: test.n, K: test.k}
		doc := record.Document{Schema: 1, Records: []record.Record{r}}.Declared(catalog.Variants())
		if got := doc.Records[0].Ran(); got != test.want {
			t.Errorf("%s: %q ran, want %q", test.name, got, test.want)
		}
	}
}

// TestDeclared wants what records say of a variant to stay, the rest from the suite in its order, and what neither has
// last: a kernel of the user.
func TestDeclared(t *testing.T) {
	row := func(variant string) record.Record { return record.Record{Key: record.Key{Variant: variant}} }
	suite := []gemm.Variant{{Name: "serial/a", Doc: "new", Parents: map[string]string{"f64": "serial/b"}},
		{Name: "serial/b", Parent: "serial/a"}}
	doc := record.Document{Records: []record.Record{row("user/mine"), row("serial/b"), row("serial/old")},
		Variants: []record.Variant{{Variant: gemm.Variant{Name: "serial/old"}},
			{Variant: gemm.Variant{Name: "serial/a", Doc: "old"}}}}
	got := doc.Declared(suite).Variants
	doc.Schema, suite[1].FormerRole = 1, gemm.Production
	if of := doc.Declared(suite).Variants; of[1].Role != gemm.Production {
		t.Errorf("got %+v of an old record", of)
	}
	if len(got) != 4 || got[0].Doc != "old" || got[0].Parents["f64"] != "serial/b" || got[1].Parent != "serial/a" ||
		got[2].Name != "serial/old" || got[3].Name != "user/mine" || got[3].Role != gemm.UserKernel {
		t.Errorf("got %+v", got)
	}
}
