package analysis

import (
	"slices"
	"testing"

	"gemm/compare"
)

// TestAsked takes flags out of commands whose words are in quotes.
func TestAsked(t *testing.T) {
	v := &View{Runs: []compare.RunInfo{{ID: "r", Command: `gemm serial --bring 'my dir/it'\''s.c' --cflags '-O2 -g' ` +
		`--bring=$'x\'\n y.c' --bring z.c --sizes 8`}}}
	rows := []compare.Record{{Run: "r"}}
	want := []string{"--bring", `'my dir/it'\''s.c'`, "--bring", `$'x\'\n y.c'`, "--bring", "z.c", "--cflags", "'-O2 -g'"}
	if got := v.Asked(rows, "bring", "cflags", "grid"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
