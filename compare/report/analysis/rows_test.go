package analysis

import (
	"testing"

	"gemm/compare"
	"gemm/compare/note"
)

// TestUnavailable checks that only rows that share a reason leave the others.
func TestUnavailable(t *testing.T) {
	row := func(status compare.Status, reason string) compare.Record {
		return compare.Record{Status: status, Reason: note.Note{Text: reason}}
	}
	others, groups := Unavailable([]compare.Record{
		row(compare.OK, ""), row(compare.Unavailable, "a"), row(compare.Unavailable, "b"), row(compare.Skipped, "a"),
		row(compare.Unavailable, "c"), row(compare.Unavailable, "a"), row(compare.Unavailable, "c"),
		row(compare.Unavailable, ""), row(compare.Unavailable, ""),
	})
	if len(others) != 5 || others[1].Reason.Text != "b" || others[2].Status != compare.Skipped {
		t.Errorf("others are %v", others)
	}
	if len(groups) != 2 || len(groups[0]) != 2 || groups[0][0].Reason.Text != "a" || groups[1][1].Reason.Text != "c" {
		t.Errorf("groups are %v", groups)
	}
}
