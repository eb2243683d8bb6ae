package gemm_test

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gemm/gemmtest"
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
		gemmtest.Must(t, err)
		for _, entry := range entries {
			name := path.Join(dir, entry.Name())
			if entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			gemmtest.Must(t, err)
			for _, spec := range file.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				gemmtest.Must(t, err)
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
// no lists of variants with their texts, no files, no flags, decoders or processes. Of this module,
// and of others, every package is listed; of the standard library, what is unwanted.
func TestImportsOfBlas(t *testing.T) {
	own := []string{"", "/gf256", "/half", "/internal/block", "/internal/cpu", "/internal/kernel",
		"/internal/kernel/f16", "/internal/kernel/f32", "/internal/kernel/f64", "/internal/kernel/gf",
		"/internal/kernel/vector", "/internal/tuned", "/internal/timeline", "/pool", "/roundoff"}
	others := []string{"github.com/klauspost/cpuid/v2", "golang.org/x/sys/unix", "gonum.org/v1/gonum/blas",
		"gonum.org/v1/gonum/blas/blas32", "gonum.org/v1/gonum/blas/blas64", "gonum.org/v1/gonum/blas/gonum",
		"gonum.org/v1/gonum/mat"}
	unwanted := []string{"archive", "compress", "crypto", "database", "embed", "encoding/csv", "encoding/gob",
		"encoding/json", "encoding/xml", "expvar", "flag", "go", "hash", "html", "image", "index", "log", "mime", "net",
		"os/exec", "os/signal", "os/user", "plugin", "regexp", "testing", "text"}
	var want, got []string
	for _, pkg := range own {
		want = append(want, module+pkg)
	}
	want = append(want, others...)
	for imported, by := range importsOf(t, "blas") {
		if first, _, _ := strings.Cut(imported, "/"); under(imported, module) || strings.Contains(first, ".") {
			got = append(got, imported)
		} else if slices.ContainsFunc(unwanted, func(root string) bool { return under(imported, root) }) {
			t.Errorf("%s imports %s, and with gemm/blas all programs that use it would", by, imported)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("gemm/blas imports\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestImportsOf checks that the test above finds what a package imports through others: the command
// has what gemm/blas must not have.
func TestImportsOf(t *testing.T) {
	imports := importsOf(t, "cmd/gemm")
	for _, want := range []string{"embed", "encoding/json", "os/exec", "regexp", module + "/parallel",
		module + "/internal/dl", "github.com/agnivade/levenshtein"} {
		if imports[want] == "" {
			t.Errorf("%s is not found", want)
		}
	}
}

// TestDownload checks that importers do not download large folders without Go files: these are modules of their own.
func TestDownload(t *testing.T) {
	const most = 1 << 20
	sizes, code := map[string]int64{}, map[string]bool{}
	for _, name := range files(t, func(string) bool { return true }) {
		top, _, below := strings.Cut(name, "/")
		info, err := os.Lstat(name)
		if err != nil || !below || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
			continue
		}
		sizes[top] += info.Size()
		code[top] = code[top] || path.Ext(name) == ".go"
	}
	for top, size := range sizes {
		if _, err := os.Stat(path.Join(top, "go.mod")); (err != nil) != (code[top] || size < most) {
			t.Errorf("%s has %d bytes, Go files: %t, go.mod: %v", top, size, code[top], err)
		}
	}
	if sizes["results"] < most {
		t.Errorf("results has %d bytes: this test sees too little", sizes["results"])
	}
}
