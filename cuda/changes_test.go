package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/kernels"
	"gemm/gemmtest"
)

// mostChanges is the number of lines that a rung may change of its parent.
const mostChanges = 120

// TestChangedLines counts the lines that each rung changes of its parent, and compares them with the table in
// docs/ladder.md, which -update writes. The kernels for use may change more.
func TestChangedLines(t *testing.T) {
	page := filepath.Join("..", "docs", "ladder.md")
	table := "| type | rung | parent | lines changed |\n|---|---|---|---|\n"
	for _, typ := range gemm.TypeNames() {
		for _, r := range Ladder(typ) {
			parent, ok := r.ParentRung()
			if !ok || typ == "bf16" {
				continue
			}
			n := changes(r.source(), parent.source())
			if n > mostChanges && r.Role != gemm.Production {
				t.Errorf("%s/%s changes %d lines of %s, at most %d", typ, r.Name, n, parent.Name, mostChanges)
			}
			file, _, err := kernels.Source(typ, r.Name)
			gemmtest.Must(t, err)
			from := parent.Name
			if parent.Type != typ {
				from = parent.Type + "/" + from
			}
			table += fmt.Sprintf("| %s | [%s](../cuda/kernels/%s) | %s | %d |\n", typ, r.Name, file, from, n)
		}
	}
	data, err := os.ReadFile(page)
	gemmtest.Must(t, err)
	old := regexp.MustCompile(`(?m)^\| type \| rung \|(.*\n)(\|.*\n)*`)
	want := old.ReplaceAllLiteralString(string(data), table)
	if *update {
		gemmtest.Must(t, os.WriteFile(page, []byte(want), 0o600))
	} else if want != string(data) || !strings.Contains(want, table) {
		t.Errorf("the table of %s is not that of the kernels (-update writes it):\n%s", page, table)
	}
}

// changes returns the lines that a text has and another lacks, or the reverse if these are more.
func changes(a, b string) int {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	common := make([]int, len(y)+1) // lines in common with the first lines of y
	for i := range x {
		diagonal := 0
		for j := range y {
			last := common[j+1]
			if common[j+1] = max(last, common[j]); x[i] == y[j] {
				common[j+1] = diagonal + 1
			}
			diagonal = last
		}
	}
	return max(len(x), len(y)) - common[len(y)]
}
