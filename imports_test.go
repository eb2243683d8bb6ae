package gemm_test

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// importsOf returns the foreign packages that the package in dir imports, directly or through other
// packages of this module, on any system. The value of a package is one that imports it.
func importsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found, seen := map[string]string{}, map[string]bool{}
	var visit func(dir string)
	visit = func(dir string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			name := path.Join(dir, entry.Name())
			if entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range file.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				found[imported] = dir
				if under(imported, module) {
					visit(path.Join(".", strings.TrimPrefix(imported, module)))
				}
			}
		}
	}
	visit(dir)
	return found
}

// TestImportsOfBlas checks that programs that import gemm/blas get only what multiplies matrices:
// no tests, flags, decoders of JSON or texts for people.
func TestImportsOfBlas(t *testing.T) {
	others := []string{"gonum.org/v1/gonum", "github.com/klauspost/cpuid/v2", "golang.org/x/sys/unix"}
	unwanted := []string{"testing", "flag", "encoding/json", "encoding/csv", "net", "os/exec", "text", "html", "go", "log"}
	imports := importsOf(t, "blas")
	if _, ok := imports["gemm/internal/kernel"]; !ok {
		t.Errorf("gemm/internal/kernel is not found, only %v", slices.Sorted(maps.Keys(imports)))
	}
	in := func(imported string, list []string) bool {
		return slices.ContainsFunc(list, func(of string) bool { return under(imported, of) })
	}
	for imported, by := range imports {
		first, _, _ := strings.Cut(imported, "/")
		if in(imported, unwanted) || strings.Contains(first, ".") && !in(imported, others) {
			t.Errorf("%s imports %s, and with gemm/blas all programs that use it would", by, imported)
		}
	}
}
