package gemm_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm/gemmtest"
)

// read returns the text of a file of this repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	gemmtest.Must(t, err)
	return string(text)
}

// files returns the files of this repository that match, without those that
// building and measuring leave behind.
func files(t *testing.T, match func(name string) bool) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "bin", "report", ".nvrtc", ".cuda"}, name) {
			return fs.SkipDir
		}
		if !entry.IsDir() && match(name) {
			names = append(names, name)
		}
		return nil
	})
	gemmtest.Must(t, err)
	return names
}

// goFile matches the Go files of this module.
func goFile(name string) bool {
	return path.Ext(name) == ".go" && !strings.HasPrefix(name, "_") && !strings.Contains(name, "/_") &&
		!strings.Contains(name, "/testdata/")
}

// documents returns the Markdown files of this repository.
func documents(t *testing.T) []string {
	return files(t, func(name string) bool {
		folder, _, _ := strings.Cut(name, "/")
		named := folder == name || slices.Contains([]string{"docs", "examples", "results"}, folder)
		return named && path.Ext(name) == ".md" && path.Dir(name) != "examples/templates" // which are no documents
	})
}

// rendered matches the pages that are written by make docs as a whole.
func rendered(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "report.") || strings.HasPrefix(base, "report-appendix.")
}

// fence is a fenced block of a Markdown text.
type fence struct {
	info string // behind the opening mark
	text string
}

// fences returns the fenced blocks of a Markdown text.
func fences(text string) []fence {
	var blocks []fence
	for _, match := range regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, fence{info: match[1], text: match[2]})
	}
	return blocks
}

// anchors returns the anchors of the headings of a Markdown text, and those that it
// sets itself.
func anchors(text string) []string {
	var names []string
	dropped := regexp.MustCompile(`[^\p{L}0-9 _-]`)
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(match[1])
		name = dropped.ReplaceAllString(name, "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	for _, match := range regexp.MustCompile(`<a id="([^"]*)">`).FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// TestLinks checks that what the documents point to within this repository is
// there.
func TestLinks(t *testing.T) {
	link, code := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`), regexp.MustCompile("`[^`\n]*`")
	places := map[string][]string{} // of the documents that links point to
	found := 0
	for _, name := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(read(t, name), ""), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			found++
			target := name
			if match[1] != "" {
				target = path.Join(path.Dir(name), match[1])
			}
			if _, err := os.Stat(filepath.FromSlash(target)); err != nil {
				t.Errorf("%s: links to %s, which is not there", name, match[1])
				continue
			}
			if match[2] == "" {
				continue
			}
			if places[target] == nil {
				places[target] = anchors(read(t, target))
			}
			if !slices.Contains(places[target], match[2]) {
				t.Errorf("%s: links to %s#%s, which has no such place", name, match[1], match[2])
			}
		}
	}
	if found == 0 {
		t.Error("no link found: the test looks in the wrong place")
	}
}

// TestDependencies checks that docs/decisions.md gives a reason for every module
// that a package of this one imports, and for no other.
func TestDependencies(t *testing.T) {
	var modules []string // of go.mod
	for _, match := range regexp.MustCompile(`(?m)^(?:require |\t)(\S+) v`).FindAllStringSubmatch(read(t, "go.mod"), -1) {
		modules = append(modules, match[1])
	}
	imported := map[string]string{} // a file that imports it, by module
	for _, name := range files(t, goFile) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		gemmtest.Must(t, err)
		for _, spec := range file.Imports {
			for _, m := range modules {
				if under(strings.Trim(spec.Path.Value, `"`), m) {
					imported[m] = name
				}
			}
		}
	}
	if len(imported) == 0 {
		t.Fatal("no import found: the test looks in the wrong place")
	}
	_, table, _ := strings.Cut(read(t, "docs/decisions.md"), "| module |")
	explained := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^\| ([a-z]+\.[^ ]+) \| .+ \|$`).FindAllStringSubmatch(table, -1) {
		explained[match[1]] = true
		if imported[match[1]] == "" {
			t.Errorf("docs/decisions.md gives a reason for %s, which nothing imports", match[1])
		}
	}
	for m, name := range imported {
		if !explained[m] {
			t.Errorf("%s imports %s; docs/decisions.md gives no reason for it", name, m)
		}
	}
}

// TestEnvironment checks that docs/options.md lists every environment variable
// of this program's own that it reads, and none that neither it nor a test reads.
func TestEnvironment(t *testing.T) {
	variable := regexp.MustCompile(`\bGEMM_[A-Z_]*[A-Z]\b`)
	options := read(t, "docs/options.md")
	listed := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `(GEMM_[A-Z_]+)` \\|").FindAllStringSubmatch(options, -1) {
		listed[match[1]] = false // until something reads it
	}
	if len(listed) == 0 {
		t.Fatal("docs/options.md has no table of environment variables")
	}
	for _, name := range files(t, goFile) {
		test := strings.HasSuffix(name, "_test.go")
		if name == "docs_test.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		gemmtest.Must(t, err)
		ast.Inspect(file, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			for _, found := range variable.FindAllString(literal.Value, -1) {
				_, ok := listed[found]
				switch {
				case ok:
					listed[found] = true
				case !test:
					t.Errorf("%s has %s; docs/options.md does not list it", name, found)
				}
			}
			return true
		})
	}
	for name, read := range listed {
		if !read {
			t.Errorf("docs/options.md lists %s, which nothing reads", name)
		}
	}
}

// TestNewcomersFindRequirements: the pages that a newcomer reads say what a container and a PDF need, and in which
// language make report writes.
func TestNewcomersFindRequirements(t *testing.T) {
	container := []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "--oversubscribe"}
	pdf := []string{"`xelatex`", "texlive-xetex", "texlive-latex-recommended", "texlive-fonts-recommended"}
	for page, wanted := range map[string][]string{
		"README.md":               append([]string{"\nmake report\n", "git clone ADDRESS"}, append(pdf, container...)...),
		"README.zh.md":            append([]string{"\nmake report LANG_REPORT=zh\n"}, append(pdf, container...)...),
		"docs/troubleshooting.md": container,
	} {
		text := read(t, page)
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not name %q", page, want)
			}
		}
	}
}

// TestMakeTargets checks that the documents name targets and variables of make
// that there are.
func TestMakeTargets(t *testing.T) {
	makefile := read(t, "Makefile")
	found := 0
	for _, name := range documents(t) {
		text := read(t, name)
		for _, match := range regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)((?: [A-Z]+=[^ `\n]*)*)").FindAllStringSubmatch(text, -1) {
			found++
			if !regexp.MustCompile(`(?m)^` + match[1] + `:`).MatchString(makefile) {
				t.Errorf("%s: make has no target %s", name, match[1])
			}
			for _, assignment := range strings.Fields(match[2]) {
				variable, _, _ := strings.Cut(assignment, "=")
				if !regexp.MustCompile(`(?m)^## ` + variable + `=`).MatchString(makefile) {
					t.Errorf("%s: make has no variable %s", name, variable)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no make found: the test looks in the wrong place")
	}
}

// TestGoInDocuments checks that the Go programs of the documents are in the bodies of
// Example tests, so that they run.
func TestGoInDocuments(t *testing.T) {
	source := read(t, "example_test.go") + read(t, "blas/example_test.go") + read(t, "lapack/example_test.go") +
		read(t, "rs/example_test.go")
	found := 0
	for _, name := range documents(t) {
		for _, block := range fences(read(t, name)) {
			if block.info != "go" {
				continue
			}
			found++
			body := "\t" + strings.ReplaceAll(strings.TrimSpace(block.text), "\n", "\n\t") + "\n"
			body = strings.ReplaceAll(body, "\n\t\n", "\n\n")
			if !strings.Contains(source, body) {
				t.Errorf("no Example runs this program of %s:\n%s", name, block.text)
			}
		}
	}
	if found == 0 {
		t.Error("no Go found: the test looks in the wrong place")
	}
}

// needs are the words that may follow "needs=" of a shell block, as in "sh needs=gpu", for things that CI does not always
// have. scripts/documents.sh runs the blocks without needs, and the blocks whose need scripts/has.sh prints. The tests of
// the Python package run the blocks in Python, and the command that needs it.
var needs = []string{
	"gpu", "cluster", "other-mpi", "nvrtc", "xelatex", "gcc", "libgemm",
	"gfortran", "octave-cli", "Rscript", "numpy", // to run with libgemm
	"python",
	"installed", // writes outside of the clone, or uses what is there
	"network",   // a clone or a download
	"module",    // another Go module
	"record",    // a new record
	"time",      // many minutes
}

// checkCommands returns the faults of a document's commands: a command that is in no shell block,
// so that scripts/documents.sh does not run it, and a shell block with an unknown need.
func checkCommands(text string) error {
	var errs []error
	for _, block := range fences(text) {
		need, marked := strings.CutPrefix(block.info, "sh needs=")
		if marked && !slices.Contains(needs, need) {
			errs = append(errs, fmt.Errorf("a block needs %q, which is none of %v", need, needs))
		}
		if !slices.Contains([]string{"sh", "go", "mermaid"}, block.info) && !marked && !strings.HasPrefix(block.info,
			"python") {
			errs = append(errs, fmt.Errorf("a block is in %q; commands are in sh, programs in go or python, and others "+
				"are indented", block.info))
		}
	}
	outside := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text, "")
	command := regexp.MustCompile(`(?m)^    (?:(?:bin/)?gemm|make|mpirun|go|git|scp|sbatch|scripts/\S+|\.ci/run)\s.*$`)
	for _, line := range command.FindAllString(outside, -1) {
		if !strings.Contains(line, "←") { // the arrows of imports
			errs = append(errs, fmt.Errorf("no shell block has the command %q", strings.TrimSpace(line)))
		}
	}
	return errors.Join(errs...)
}

// TestCommandsInDocuments checks that CI runs every command of the documents, or that
// its block says what it needs.
func TestCommandsInDocuments(t *testing.T) {
	for text, wrong := range map[string]bool{
		"```sh\nbin/gemm list\n```\n":                false,
		"```sh needs=gpu\nbin/gemm cuda\n```\n":      false,
		"```sh needs=luck\nbin/gemm cuda\n```\n":     true,
		"```\nbin/gemm list\n```\n":                  true,
		"Type\n\n    bin/gemm list\n":                true,
		"Imports:\n\n    gemm ← serial ← parallel\n": false,
	} {
		if err := checkCommands(text); (err != nil) != wrong {
			t.Errorf("checkCommands(%q) = %v", text, err)
		}
	}
	for _, name := range documents(t) {
		if rendered(name) {
			continue
		}
		if err := checkCommands(read(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWords has scripts/words.sh find phrases that are planted in comments, help texts and documents, and no others.
func TestWords(t *testing.T) {
	dir := t.TempDir()
	var names strings.Builder
	for name, text := range map[string]string{
		"a.go":         "package a // nobody waits\n", // (words: planted)
		"b.sh":         "echo nobody # the ranks, who wait\n",
		"c.md":         "It goes\nthrough. The type is that of A.\n",
		"good.go":      "package a // --bring names kernels\n\nvar nobody = `that of`\n", // (words: planted)
		"good.md":      "[Kernels](bring.md) of `somebody`; a settled case, nobody (words: planted).\n",
		"testdata/d.c": "// nobody\n",
	} {
		name = filepath.Join(dir, name)
		gemmtest.Must(t, os.MkdirAll(filepath.Dir(name), 0o777))
		gemmtest.Must(t, os.WriteFile(name, []byte(text), 0o644))
		fmt.Fprintln(&names, name)
	}
	cmd := exec.CommandContext(t.Context(), "scripts/words.sh", "-")
	cmd.Stdin = strings.NewReader(names.String())
	out, err := cmd.Output()
	var found []string
	for line := range strings.Lines(string(out)) {
		found = append(found, strings.Join(strings.SplitN(strings.TrimPrefix(line, dir+"/"), ":", 4)[:3], ":"))
	}
	slices.Sort(found)
	want := []string{`a.go:1: "nobody"`, `b.sh:1: "ranks, who"`, `c.md:2: "that of"`}
	if cmd.ProcessState.ExitCode() != 1 || !slices.Equal(found, want) {
		t.Errorf("%v; it finds %q, want %q", err, found, want)
	}
}

// TestMakeVariables checks that docs/options.md lists every variable of the
// Makefile with its default, as `make help` does, and that a recipe reads it.
func TestMakeVariables(t *testing.T) {
	makefile, options := read(t, "Makefile"), read(t, "docs/options.md")
	assignments := regexp.MustCompile(`(?m)^([A-Z]+) +\?=[ \t]*(.*)$`).FindAllStringSubmatch(makefile, -1)
	if len(assignments) == 0 {
		t.Fatal("the Makefile has no variables: the test looks in the wrong place")
	}
	for _, match := range assignments {
		name, value := match[1], match[2]
		shown := "none"
		if value != "" {
			shown = "`" + value + "`"
		}
		if !strings.Contains(options, "| `"+name+"` | "+shown+" |") {
			t.Errorf("docs/options.md does not list %s with its default %s", name, shown)
		}
		if !regexp.MustCompile(`(?m)^## ` + name + `=` + regexp.QuoteMeta(value) + `\s`).MatchString(makefile) {
			t.Errorf("make help does not show %s=%s", name, value)
		}
		exported := regexp.MustCompile(`(?m)^export .*\b` + name + `\b`).MatchString(makefile)
		if !exported && !strings.Contains(makefile, "$("+name+")") {
			t.Errorf("nothing reads %s", name)
		}
	}
}
