package gemm_test

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gemm/gemmtest"
)

// renamedTree returns a copy of the files of this repository that may have the path of the module.
func renamedTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	kinds := map[string]bool{".go": true, ".md": true, ".mod": true, ".sh": true, ".yml": true, ".s": true}
	for _, name := range files(t, func(name string) bool { return kinds[path.Ext(name)] }) {
		info, err := os.Stat(name)
		gemmtest.Must(t, err)
		copied := filepath.Join(dir, name)
		gemmtest.Must(t, os.MkdirAll(filepath.Dir(copied), 0o700))
		gemmtest.Must(t, os.WriteFile(copied, []byte(read(t, name)), info.Mode().Perm()|0o200))
	}
	return dir
}

// texts returns the files below dir.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		found[strings.TrimPrefix(name, dir+"/")] = read(t, name)
		return nil
	})
	gemmtest.Must(t, err)
	return found
}

// rename runs scripts/rename.sh in a copy of this repository.
func rename(t *testing.T, dir, to string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "scripts", "rename.sh"), to)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestRename gives the module other names and then its own, which must be as before. With a name
// of two parts nothing imports a package by the old one, and the checks of the layout know the new.
func TestRename(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	dir := renamedTree(t)
	before := texts(t, dir)
	old := module
	for _, to := range []string{
		"example.org/me/gemm", "example.org/me/gemm", "gemm.example.org/x.y/products/v2", module,
	} {
		if said, err := rename(t, dir, to); err != nil {
			t.Fatalf("%s: %v: %s", to, err, said)
		}
		now := texts(t, dir)
		if len(now) != len(before) {
			t.Errorf("%s: %d files became %d", to, len(before), len(now))
		}
		checkRenamed(t, now, old, to)
		old = to
	}
	wantSame(t, texts(t, dir), before)
}

// wantSame checks that no file has changed.
func wantSame(t *testing.T, now, before map[string]string) {
	t.Helper()
	for name, text := range now {
		if text != before[name] {
			t.Errorf("%s has changed", name)
		}
	}
}

// checkRenamed checks the imports, and some other places that have the path of the module.
func checkRenamed(t *testing.T, tree map[string]string, from, to string) {
	t.Helper()
	own := 0
	for name, text := range tree {
		if path.Ext(name) != ".go" || strings.Contains(name, "testdata/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		gemmtest.Must(t, err)
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			gemmtest.Must(t, err)
			if from != to && under(imported, from) {
				t.Errorf("%s imports %s", name, imported)
			}
			if under(imported, to) {
				own++
			}
		}
	}
	if own < 500 {
		t.Errorf("only %d imports begin with %s", own, to)
	}
	for name, want := range map[string]string{
		"go.mod":           "module " + to + "\n",
		"layout_test.go":   "const module = \"" + to + "\"\n",
		".golangci.yml":    "- " + to + "\n",
		"doc.go":           to + "/cmd/catalog lists",
		"docs/howto-go.md": "replace " + to + " => ../gemm\n",
	} {
		if !strings.Contains(tree[name], want) {
			t.Errorf("%s does not have %q", name, want)
		}
	}
	if want := "Import `" + to + "` and `" + to + "/blas`"; !strings.Contains(tree["docs/howto-go.md"], want) {
		t.Errorf("docs/howto-go.md does not have %q", want)
	}
}

// TestRenameRefuses gives names that no module can have. Nothing must change.
func TestRenameRefuses(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	dir := renamedTree(t)
	before := texts(t, dir)
	for _, to := range []string{"", "math", "me/gemm", "Example.org/gemm", "example.org/a b", "example.org/gemm/",
		"example.org//gemm", "example.org/gemm/v1", "example.org/gemm@v1.0.0", "example.org/x'y", "example.org/#&",
		"-x.org/gemm", module + "/lib"} {
		said, err := rename(t, dir, to)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || strings.Count(said, "\n") != 1 ||
			!strings.HasPrefix(said, "rename: ") || !strings.Contains(said, `"`+to+`"`) {
			t.Errorf("%q: %v: %s", to, err, said)
		}
	}
	wantSame(t, texts(t, dir), before)
}
