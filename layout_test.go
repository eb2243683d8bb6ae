package gemm_test

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// module is the first part of every import path of this repository; scripts/rename.sh changes it.
const module = "gemm"

// architecture is the document with the pictures of the imports.
const architecture = "docs/architecture.md"

// entrances lists the packages of a folder that other folders may import; commands may import all.
var entrances = map[string][]string{"compare": {"compare/record"}}

// testOnly is the folder of packages that only tests import.
const testOnly = "gemmtest"

// externalTable says which packages of this module may import a package from elsewhere; a path covers the packages
// below it. What is not listed may be imported anywhere but in the root package, which rootExternal rules.
var externalTable = map[string][]string{
	"github.com/urfave/cli":            {"cmd/gemm"},
	"github.com/schollz":               {"cmd/gemm"},
	"gonum.org/v1/plot":                {"compare/report/chart", "compare/report/figures"},
	"github.com/yuin/goldmark":         {"compare/report/page"},
	"github.com/wyatt915/treeblood":    {"compare/report/page"},
	"go.yaml.in/yaml":                  {"compare", "compare/report/text", "internal/note", "cmd/drawing", "cmd/pages"},
	"gorgonia.org/cu":                  {"cuda/device"}, // its init exits if there is no GPU
	"github.com/emer/empi":             {"mpi"},
	"github.com/ebitengine/purego":     {"internal/dl"},
	"github.com/klauspost/cpuid":       {"internal/cpu"},
	"github.com/klauspost/reedsolomon": {"reference"},
	"github.com/sbinet/npyio":          {"internal/matfile"},
	"github.com/gofrs/flock":           {"internal/output"},
	"github.com/agnivade":              {"compare", "cmd/catalog", "cmd/gemm"},
	"github.com/mmcloughlin/avo":       nil, // the generators are a module of their own
	"gonum.org/v1/gonum/blas/gonum":    {"serial", "blas"},
	"gonum.org/v1/gonum/lapack/gonum":  {"lapack"},
}

// rootExternal is all that the root package imports besides the standard
// library and this module: the types of gonum that a Matrix converts to.
var rootExternal = []string{
	"gonum.org/v1/gonum/blas",
	"gonum.org/v1/gonum/blas/blas32",
	"gonum.org/v1/gonum/blas/blas64",
	"gonum.org/v1/gonum/mat",
}

// vagueNames are names of packages that say nothing of what is in them.
var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}

// under reports whether pkg is root or below it.
func under(pkg, root string) bool {
	return pkg == root || strings.HasPrefix(pkg, root+"/")
}

// inModule returns the folder of a package of this module, "." of the root package.
func inModule(imported string) string {
	if imported == module {
		return "."
	}
	return strings.TrimPrefix(imported, module+"/")
}

// checkLayout returns the packages of fsys, their imports of each other, and the faults of the Go files.
func checkLayout(fsys fs.FS) (packages []string, made map[arrow]bool, err error) {
	var errs []error
	made = map[arrow]bool{}
	files := token.NewFileSet()
	documented := map[string]bool{} // by folder, of packages that are not only tests
	err = walkGo(fsys, func(name string, source []byte) error {
		file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		test := strings.HasSuffix(name, "_test.go")
		errs = append(errs, checkImports(dir, name, file, test, made))
		errs = append(errs, checkName(name, file))
		if test {
			return nil
		}
		documented[dir] = documented[dir] || file.Doc != nil
		errs = append(errs, checkDocs(files, file), checkProcesses(files, dir, file), checkPure(files, dir, file))
		if path.Base(name) == "variants.go" && constrained(file) {
			errs = append(errs, fmt.Errorf("%s: has a build constraint; the list of variants is the same in every build", name))
		}
		return nil
	})
	errs = append(errs, err)
	packages = slices.Sorted(maps.Keys(documented))
	for _, dir := range packages {
		if !documented[dir] {
			errs = append(errs, fmt.Errorf("%s: the package has no doc comment", dir))
		}
	}
	return packages, made, errors.Join(errs...)
}

// walkGo calls visit with each Go file of the module in fsys.
func walkGo(fsys fs.FS, visit func(name string, source []byte) error) error {
	return fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		switch {
		case entry.IsDir() && name != "." && (base == "testdata" || strings.ContainsAny(base[:1], "._")):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		source, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		return visit(name, source)
	})
}

// arrow is an import of one package by another, by their folders.
type arrow struct{ importer, imported string }

// picture is a Mermaid diagram of a folder: its packages, and the imports between them that do not follow from others.
// A name stands for all folders below it, unless they have names of their own. Packages for tests are left out.
type picture struct {
	inside string // the folder; "." has the folders at the top
	names  map[string]bool
	arrows map[arrow]bool
}

// pictures returns the diagrams of a document. The folder of a diagram is in a comment, "%% inside compare".
func pictures(document string) (all []picture) {
	for _, block := range strings.Split(document, "```mermaid\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		p := picture{names: map[string]bool{}, arrows: map[arrow]bool{}}
		for line := range strings.Lines(block) {
			words := strings.Fields(line)
			switch {
			case len(words) == 3 && words[0] == "%%" && words[1] == "inside":
				p.inside = words[2]
			case len(words) == 3 && words[1] == "-->":
				p.names[words[0]], p.names[words[2]] = true, true
				p.arrows[arrow{words[0], words[2]}] = true
			case len(words) == 1 && words[0] != "end":
				p.names[words[0]] = true
			}
		}
		all = append(all, p)
	}
	return all
}

// name returns the name of a package in p, which p may lack; "" if the package is not in the folder.
func (p picture) name(dir string) string {
	if dir == p.inside {
		return path.Base(strings.Replace(dir, ".", module, 1))
	}
	below := dir
	if p.inside != "." {
		below = strings.TrimPrefix(dir, p.inside+"/")
	}
	if below == dir && p.inside != "." || under(dir, testOnly) {
		return ""
	}
	for name := below; name != "."; name = path.Dir(name) {
		if p.names[name] {
			return name
		}
	}
	first, _, _ := strings.Cut(below, "/")
	return first
}

// check compares p with the packages and their imports. The error says which lines to add and to delete.
func (p picture) check(packages []string, made map[arrow]bool) error {
	imports := map[string]map[string]bool{}
	for _, dir := range packages {
		if name := p.name(dir); name != "" {
			imports[name] = map[string]bool{}
		}
	}
	for a := range made {
		if from, to := p.name(a.importer), p.name(a.imported); from != "" && to != "" && from != to {
			imports[from][to] = true
		}
	}
	if found := circle(imports); found != nil {
		return fmt.Errorf("these folders import each other: %s", strings.Join(found, " -> "))
	}
	var errs []error
	fault := func(what string, words ...string) {
		errs = append(errs, fmt.Errorf("%s, the picture inside %s: %s the line \"%s\"", architecture, p.inside, what,
			strings.Join(words, " --> ")))
	}
	want := reduce(imports)
	for _, a := range slices.SortedFunc(maps.Keys(want), arrow.compare) {
		if !p.arrows[a] {
			fault("add", a.importer, a.imported)
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(p.arrows), arrow.compare) {
		if !want[a] {
			fault("delete", a.importer, a.imported)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if !p.names[name] {
			fault("add", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.names)) {
		if imports[name] == nil {
			fault("delete", name)
		}
	}
	return errors.Join(errs...)
}

func (a arrow) compare(b arrow) int {
	return cmp.Or(cmp.Compare(a.importer, b.importer), cmp.Compare(a.imported, b.imported))
}

// reduce returns the imports that do not follow from others (the transitive reduction). There must be no circle.
func reduce(imports map[string]map[string]bool) map[arrow]bool {
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		for next := range imports[from] {
			if next == to || reaches(next, to) {
				return true
			}
		}
		return false
	}
	out := map[arrow]bool{}
	for from := range imports {
		for to := range imports[from] {
			follows := false
			for next := range imports[from] {
				follows = follows || reaches(next, to)
			}
			if !follows {
				out[arrow{from, to}] = true
			}
		}
	}
	return out
}

// checkImports checks the imports of one file of the package in dir, and adds the imports of this module to made.
func checkImports(dir, name string, file *ast.File, test bool, made map[arrow]bool) error {
	var errs []error
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !under(imported, module) {
			err = checkExternal(dir, imported, test)
		} else if !test {
			made[arrow{dir, inModule(imported)}] = true
			err = checkImport(dir, inModule(imported))
			if spec.Name != nil && spec.Name.Name == "_" {
				err = fmt.Errorf("imports %s for its side effects; lists are explicit here", imported)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// checkImport checks that the package in dir may import the package imported, both of this module.
func checkImport(dir, imported string) error {
	folder, _, _ := strings.Cut(imported, "/")
	open := entrances[folder]
	switch {
	case under(imported, testOnly) && !under(dir, testOnly):
		return fmt.Errorf("imports %s, which is for tests", imported)
	case open != nil && !under(dir, folder) && !under(dir, "cmd") && !under(dir, testOnly) && !slices.Contains(open,
		imported):
		return fmt.Errorf("imports %s; of %s it may import %s", imported, folder, strings.Join(open, ", "))
	}
	return nil
}

// checkExternal checks that the package in dir may import the package imported, which is not of this module.
func checkExternal(dir, imported string, test bool) error {
	first, _, _ := strings.Cut(imported, "/")
	if test || !strings.Contains(first, ".") { // the standard library, and cgo
		return nil
	}
	if dir == "." && !slices.Contains(rootExternal, imported) {
		return fmt.Errorf("imports %s; the contract imports only the standard library, gf256 and gonum's types", imported)
	}
	for listed, owners := range externalTable {
		if under(imported, listed) && !slices.ContainsFunc(owners, func(owner string) bool { return under(dir, owner) }) {
			return fmt.Errorf("imports %s, which only %v may", imported, owners)
		}
	}
	return nil
}

// checkName checks that the name of file's package says something.
func checkName(name string, file *ast.File) error {
	if pkg := strings.TrimSuffix(file.Name.Name, "_test"); slices.Contains(vagueNames, pkg) {
		return fmt.Errorf("%s: package %s is named for nothing; name it for what it holds", name, pkg)
	}
	return nil
}

// starters are the methods with which exec.Cmd starts a process; only the packages in starting may
// call them. A process that another package starts might outlive this one.
var (
	starters = []string{"Start", "Run", "Output", "CombinedOutput"}
	starting = []string{"internal/ipc", "gemmtest"}
)

// checkProcesses checks that a file that makes commands has package child start them.
func checkProcesses(files *token.FileSet, dir string, file *ast.File) error {
	makes := func(spec *ast.ImportSpec) bool { return spec.Path.Value == `"os/exec"` }
	if slices.Contains(starting, dir) || !slices.ContainsFunc(file.Imports, makes) {
		return nil
	}
	var errs []error
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) > 0 {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(starters, f.Sel.Name) {
			errs = append(errs, fmt.Errorf("%v: calls %s of a command; internal/ipc starts processes, and ends them "+
				"with this one", files.Position(f.Sel.Pos()), f.Sel.Name))
		}
		return true
	})
	return errors.Join(errs...)
}

// pure are the packages whose results depend on their arguments alone: they may not import what is in impure, nor use
// the functions of package time in clocks.
var (
	pure   = []string{"compare/plan", "compare/schedule"}
	impure = []string{"os", "runtime", "syscall", "math/rand", "net", module + "/internal/cpu"}
	clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}
)

// checkPure checks that a file of a pure package asks neither the host nor the clock.
func checkPure(files *token.FileSet, dir string, file *ast.File) error {
	if !slices.Contains(pure, dir) {
		return nil
	}
	var errs []error
	report := func(n ast.Node, what string) {
		errs = append(errs, fmt.Errorf("%v: uses %s; the package is pure", files.Position(n.Pos()), what))
	}
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		if slices.ContainsFunc(impure, func(root string) bool { return under(imported, root) }) ||
			imported == "time" && spec.Name != nil {
			report(spec, spec.Path.Value)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.SelectorExpr); ok && slices.Contains(clocks, f.Sel.Name) {
			if of, ok := f.X.(*ast.Ident); ok && of.Name == "time" {
				report(f, "time."+f.Sel.Name)
			}
		}
		return true
	})
	return errors.Join(errs...)
}

// checkDocs checks that every exported name in file has a doc comment. The comment of a group counts for all its names.
func checkDocs(files *token.FileSet, file *ast.File) error {
	var errs []error
	want := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		if name.IsExported() && !slices.ContainsFunc(docs, func(doc *ast.CommentGroup) bool { return doc != nil }) {
			errs = append(errs, fmt.Errorf("%v: %s has no doc comment", files.Position(name.Pos()), name.Name))
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil || ast.IsExported(receiver(decl)) {
				want(decl.Name, decl.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					want(spec.Name, spec.Doc, decl.Doc)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						want(name, spec.Doc, spec.Comment, decl.Doc)
					}
				}
			}
		}
	}
	return errors.Join(errs...)
}

// constrained reports whether file has a build constraint.
func constrained(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if comment.Pos() < file.Package && constraint.IsGoBuild(comment.Text) {
				return true
			}
		}
	}
	return false
}

// TestLayout checks this repository. It reads the files itself: the result of a
// test that starts go list comes from the cache after the files have changed.
func TestLayout(t *testing.T) {
	packages, made, err := checkLayout(os.DirFS("."))
	if err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, p := range pictures(read(t, architecture)) {
		seen[p.inside] = true
		if err := p.check(packages, made); err != nil {
			t.Error(err)
		}
	}
	for _, folder := range []string{".", "internal", "compare"} {
		if !seen[folder] {
			t.Errorf("%s has no picture inside %s", architecture, folder)
		}
	}
}

// circle returns the names of a circle of imports, nil if there is none.
func circle(imports map[string]map[string]bool) []string {
	seen := map[string]bool{}
	var visit func(path []string) []string
	visit = func(path []string) []string {
		last := path[len(path)-1]
		if at := slices.Index(path[:len(path)-1], last); at >= 0 {
			return path[at:]
		}
		if seen[last] {
			return nil
		}
		seen[last] = true
		for _, to := range slices.Sorted(maps.Keys(imports[last])) {
			if found := visit(append(slices.Clip(path), to)); found != nil {
				return found
			}
		}
		return nil
	}
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		if found := visit([]string{from}); found != nil {
			return found
		}
	}
	return nil
}

// TestPictureFaults compares pictures with imports. The first ones are right, each of the others has one fault.
func TestPictureFaults(t *testing.T) {
	made := map[arrow]bool{{"compare", "compare/run"}: true, {"compare", "."}: true, {"compare/run", "compare/plan"}: true,
		{"compare", "compare/plan"}: true, {"compare/run/turn", "internal/cpu"}: true, {"internal/cpu", "."}: true,
		{"gemmtest", "compare"}: true}
	const head = "A.\n```mermaid\nflowchart TD\n%% inside "
	for lines, want := range map[string]string{
		".\ncompare --> internal\ninternal --> MODULE":                      "",
		"compare\ncompare --> run\nrun --> plan":                            "",
		"compare\nsubgraph a\ncompare --> run\nend\nrun --> plan\nrun/turn": "",
		".\ncompare --> internal":                                           `add the line "internal --> MODULE"`,
		".\ncompare --> internal\ninternal --> MODULE\ncompare --> MODULE":  `delete the line "compare --> MODULE"`,
		".\ncompare --> internal\ninternal --> MODULE\nserial":              `delete the line "serial"`,
		"internal\n": `inside internal: add the line "cpu"`,
		"compare\ncompare --> run\nrun --> plan\nplan --> record": `delete the line "plan --> record"`,
	} {
		lines, want = strings.ReplaceAll(lines, "MODULE", module), strings.ReplaceAll(want, "MODULE", module)
		err := pictures(head + lines + "\n```\nB.")[0].check([]string{".", "compare", "compare/plan", "compare/run",
			"compare/run/turn", "internal/cpu", "gemmtest"}, made)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", lines, err, want)
		}
	}
	made[arrow{"internal/cpu", "mpi"}], made[arrow{"mpi", "compare/record"}] = true, true
	err := pictures(head + ".\n```")[0].check([]string{"compare", "internal/cpu", "mpi"}, made)
	if err == nil || !strings.Contains(err.Error(), "compare -> internal -> mpi -> compare") {
		t.Errorf("the circle of compare, internal and mpi: %v", err)
	}
}

// TestLayoutFaults plants one fault in each tree. The error must name it. MODULE stands for the
// name that this module has been given.
func TestLayoutFaults(t *testing.T) {
	const doc = "// Package p is documented.\n"
	tests := map[string]struct {
		files map[string]string
		want  string // part of the error; "" for none
	}{
		"clean": {map[string]string{
			"doc.go":                   doc + "package gemm\nimport _ \"gonum.org/v1/gonum/mat\"\n",
			"serial/ikj.go":            doc + "package serial\nimport \"MODULE\"\nvar _ gemm.Params\n",
			"serial/ikj_test.go":       "package serial\nimport _ \"MODULE/gemmtest\"\n",
			"internal/kernel/f64/k.go": doc + "package f64\nimport \"MODULE/internal/cpu\"\n",
			"cmd/gemm/main.go":         doc + "package main\nimport \"MODULE/compare\"\n",
			"testdata/bad.go":          "package util",
			"_asm/main.go":             "package util",
		}, ""},
		"backend that plans": {map[string]string{
			"mpi/a.go": doc + "package mpi\nimport \"MODULE/compare/record\"\nimport \"MODULE/compare/plan\"\n",
		}, "mpi/a.go: imports compare/plan; of compare it may import compare/record"},
		"root imports a library": {map[string]string{
			"doc.go": doc + "package gemm\nimport \"gonum.org/v1/gonum/stat\"\n",
		}, "the contract imports only"},
		"cli outside the command": {map[string]string{
			"compare/flags.go": doc + "package compare\nimport \"github.com/urfave/cli/v2\"\n",
		}, "imports github.com/urfave/cli/v2, which only [cmd/gemm] may"},
		"cu linked into gemm": {map[string]string{
			"cuda/plan.go": doc + "package cuda\nimport \"gorgonia.org/cu\"\n",
		}, "imports gorgonia.org/cu"},
		"conformance suite outside tests": {map[string]string{
			"serial/ikj.go": doc + "package serial\nimport \"MODULE/gemmtest\"\n",
		}, "which is for tests"},
		"registration": {map[string]string{
			"cmd/catalog/catalog.go": doc + "package catalog\nimport _ \"MODULE/serial\"\n",
		}, "for its side effects"},
		"process that outlives this one": {map[string]string{
			"compare/c.go": doc + "package compare\nimport \"os/exec\"\nvar _ = exec.Command(\"go\").Run()\n",
		}, "compare/c.go:4:28: calls Run of a command"},
		"plan that asks the host": {map[string]string{
			"compare/plan/p.go": doc + "package plan\nimport \"os/exec\"\n",
		}, `compare/plan/p.go:3:8: uses "os/exec"; the package is pure`},
		"plan that asks for the processors": {map[string]string{
			"compare/plan/p.go": doc + "package plan\nimport \"MODULE/internal/cpu\"\n",
		}, `uses "MODULE/internal/cpu"; the package is pure`},
		"schedule that asks the clock": {map[string]string{
			"compare/schedule/s.go": doc + "package schedule\nimport \"time\"\nvar now = time.Now\n",
		}, "compare/schedule/s.go:4:11: uses time.Now; the package is pure"},
		"vague name": {map[string]string{
			"internal/cpu/util.go": doc + "package util\n",
		}, "package util is named for nothing"},
		"package without doc": {map[string]string{
			"serial/ikj.go": "package serial\n", "serial/naive.go": "package serial\n",
		}, "serial: the package has no doc comment"},
		"function without doc": {map[string]string{
			"serial/ikj.go": doc + "package serial\nfunc Multiply() {}\n",
		}, "serial/ikj.go:3:6: Multiply has no doc comment"},
		"generic method without doc": {map[string]string{
			"serial/ikj.go": doc + "package serial\nfunc (x *Ikj[T]) Multiply() {}\n",
		}, "Multiply has no doc comment"},
		"method of a hidden type": {map[string]string{
			"serial/ikj.go": doc + "package serial\nfunc (x ikj[T]) Multiply() {}\n",
		}, ""},
		"type without doc": {map[string]string{
			"serial/ikj.go": doc + "package serial\ntype Ikj struct{}\n",
		}, "Ikj has no doc comment"},
		"constant without doc": {map[string]string{
			"serial/ikj.go": doc + "package serial\nconst (\n\tA = 1 // documented\n\tB = 2\n)\n",
		}, "B has no doc comment"},
		"constants of a documented group": {map[string]string{
			"serial/ikj.go": doc + "package serial\n// The sizes.\nconst (\n\tA = 1\n\tB = 2\n)\n",
		}, ""},
		"constrained list": {map[string]string{
			"serial/variants.go": "//go:build amd64\n\n" + doc + "package serial\n",
		}, "variants.go: has a build constraint"},
		"no Go": {map[string]string{
			"serial/ikj.go": "package",
		}, "serial/ikj.go:1:8: expected"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for file, text := range test.files {
				tree[file] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(text, "MODULE", module))}
			}
			test.want = strings.ReplaceAll(test.want, "MODULE", module)
			_, _, err := checkLayout(tree)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("a clean tree fails: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}
