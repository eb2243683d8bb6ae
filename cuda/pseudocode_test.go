package cuda

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gemm"
	"gemm/cuda/kernels"
)

// TestPseudocode checks that every variant of the family has pseudo-code for each of its element types,
// which fits in a column of a report, and that no file is left over.
func TestPseudocode(t *testing.T) {
	const mostColumns, mostLines, mostComments = 56, 18, 2
	files := 0
	for _, v := range Variants(nil) {
		name := strings.TrimPrefix(v.Name, Family+"/")
		for _, typ := range v.Types() {
			if gemm.TypeNamed(typ).IsHalf() {
				continue // its ladder repeats TF32
			}
			text, ok := kernels.Pseudocode(typ, name)
			if !ok {
				t.Errorf("%s has no pseudo-code in %s", v.Name, typ)
				continue
			}
			file := name + ".txt"
			files++
			if !utf8.ValidString(text) || !strings.HasSuffix(text, "\n") {
				t.Errorf("%s/%s is not lines of UTF-8", typ, file)
			}
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if len(lines) > mostLines {
				t.Errorf("%s/%s has %d lines", typ, file, len(lines))
			}
			if n := strings.Count(text, "▷"); n > mostComments {
				t.Errorf("%s/%s has %d comments", typ, file, n)
			}
			for i, line := range lines {
				indent := len(line) - len(strings.TrimLeft(line, " "))
				if n := utf8.RuneCountInString(line); n == 0 || n > mostColumns || indent%2 != 0 ||
					strings.Contains(line, "\t") || strings.HasSuffix(line, " ") {
					t.Errorf("%s/%s:%d: %d columns: %q", typ, file, i+1, n, line)
				}
			}
		}
	}
	have, err := filepath.Glob(filepath.Join("kernels", "*", "*.txt"))
	have = slices.DeleteFunc(have, func(file string) bool { return strings.Contains(file, "half") })
	if err != nil || len(have) != files {
		t.Errorf("the files are %v, %v, and variants have %d", have, err, files)
	}
	for _, absent := range [][2]string{{"f32", "dmma"}, {"f16", "naive"}, {"f32", ""}} {
		if text, ok := kernels.Pseudocode(absent[0], absent[1]); ok {
			t.Errorf("%v has pseudo-code: %s", absent, text)
		}
	}
}
