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
	files := map[string][]string{}
	for _, v := range Variants(nil) {
		name := strings.TrimPrefix(v.Name, Family+"/")
		for typ, has := range map[string]bool{"f32": v.F32 != nil, "f64": v.F64 != nil, "gf256": v.GF256 != nil} {
			if !has {
				continue
			}
			text, ok := kernels.Pseudocode(typ, name)
			if !ok {
				t.Errorf("%s has no pseudo-code in %s", v.Name, typ)
				continue
			}
			file := name + ".txt"
			if i := slices.IndexFunc(rungs, func(r Rung) bool { return r.Type == typ && r.Name == name }); i >= 0 {
				file = strings.TrimSuffix(rungs[i].File, ".cu") + ".txt"
			}
			files[typ] = append(files[typ], file)
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
	for _, typ := range gemm.TypeNames() {
		have, err := filepath.Glob(filepath.Join("kernels", typ, "*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range have {
			have[i] = filepath.Base(have[i])
		}
		slices.Sort(files[typ])
		if !slices.Equal(have, files[typ]) {
			t.Errorf("%s: the files are %v, the variants' %v", typ, have, files[typ])
		}
	}
	for _, absent := range [][2]string{{"f32", "dmma"}, {"f16", "naive"}, {"f32", ""}} {
		if text, ok := kernels.Pseudocode(absent[0], absent[1]); ok {
			t.Errorf("%v has pseudo-code: %s", absent, text)
		}
	}
}
