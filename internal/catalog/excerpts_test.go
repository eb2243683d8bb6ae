package catalog

import (
	"strings"
	"testing"
)

func TestExcerpts(t *testing.T) {
	var families []string
	for _, e := range Excerpts() {
		families = append(families, e.Family)
		if n := strings.Count(e.Text, "\n"); n < 10 || n > 60 || e.Path == "" {
			t.Errorf("%s: %s has %d lines", e.Family, e.Path, n)
		}
		if !strings.HasSuffix(e.Text, "}\n") {
			t.Errorf("%s: not a whole function:\n%s", e.Family, e.Text)
		}
	}
	if got := strings.Join(families, " "); got != "serial parallel mpi cuda" {
		t.Errorf("excerpts of %s", got)
	}
}
