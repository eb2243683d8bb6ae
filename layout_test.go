package gemm_test

import (
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

// importTable lists the packages of this module that a package may import in code that is not a
// test. An entry also covers the packages in its subfolders, unless they have an entry of their
// own; "." is the root package. A package without an entry is an error: who adds a package decides
// where it belongs. Dependencies point one way: a package imports only packages of the groups above
// its own. An entry that no import needs is an error too.
var importTable = map[string][]string{
	"compare/report/chart":  nil,
	"compare/report/number": nil,
	"gf256":                 nil,
	"half":                  nil,
	"internal/child":        nil,
	"internal/cpu":          nil,
	"internal/frame":        nil,
	"internal/occupancy":    nil,
	"internal/output":       nil,
	"internal/sample":       nil,
	"internal/starter":      nil,
	"internal/timeline":     nil,
	"internal/trust":        nil,
	"internal/tuned":        nil,
	"lapack":                nil,

	".":                   {"gf256", "half"},
	"compare/report/page": {"compare/report/chart"},
	"internal/kernel":     {"gf256", "half", "internal/cpu"},
	"internal/peak":       {"gf256", "internal/cpu"},
	"internal/settings":   {"internal/cpu", "internal/output", "internal/trust", "internal/tuned"},
	"internal/topology":   {"internal/cpu"},

	"compare/verify":      {"gf256", "half", "internal/cpu", "."},
	"cuda/guest":          {"."},
	"cuda/ladder":         {"."},
	"cuda/sass":           {"internal/child", "internal/output", "."},
	"cuda/wire":           {"gf256", "half", "internal/child", "internal/frame", "internal/timeline", "."},
	"internal/block":      {"gf256", "half", "internal/cpu", "internal/tuned", "internal/kernel"},
	"internal/busy":       {"."},
	"internal/dl":         {"internal/child", "internal/cpu", "."},
	"internal/matfile":    {"gf256", "half", "internal/output", "."},
	"internal/note":       {"."},
	"internal/peer":       {"internal/child", "internal/cpu", "internal/frame", "internal/trust", "."},
	"internal/pseudocode": {"."},
	"shard":               {"gf256", "internal/cpu", "internal/output", "internal/timeline", "."},
	"mpi/launch":          {"internal/child", "internal/cpu", "internal/output", "."},
	"mpi/memory":          {"internal/cpu", "."},
	"pool":                {"internal/cpu", "internal/timeline", "."},

	"blas": {".", "internal/kernel", "internal/block", "pool"},
	"compare/record": {
		"internal/cpu", "internal/occupancy", "internal/output", "internal/timeline", ".", "internal/topology",
		"internal/note",
	},
	"cuda/kernels":    {".", "cuda/ladder"},
	"internal/python": {"internal/child", ".", "internal/note", "internal/peer"},
	"user":            {"internal/output", ".", "internal/note", "internal/peer"},

	"cmd/shard-bench":         {"internal/child", ".", "compare/record"},
	"compare/plan":            {"gf256", ".", "compare/verify", "compare/record"},
	"compare/report/analysis": {"internal/occupancy", "internal/timeline", ".", "internal/note", "compare/record"},
	"compare/report/trace":    {".", "compare/record"},
	"cuda": {
		"gf256", "half", "internal/occupancy", "internal/output", "internal/timeline", "internal/trust",
		"internal/tuned", ".", "cuda/guest", "cuda/ladder", "internal/busy", "internal/dl", "internal/note",
		"internal/peer", "compare/record", "cuda/kernels", "internal/python",
	},
	"gemmtest": {"gf256", "half", "internal/cpu", ".", "mpi/launch", "compare/record"},
	"serial": {
		"gf256", "half", "internal/cpu", "internal/tuned", ".", "internal/kernel", "internal/block",
		"internal/pseudocode", "blas",
	},

	"compare/report/analysis/claim": {".", "compare/record", "compare/report/analysis"},
	"compare/report/analysis/lab":   {"compare/record", "compare/report/analysis"},
	"compare/run/turn": {
		"gf256", "half", "internal/cpu", "internal/sample", "internal/timeline", ".", "internal/peak",
		"compare/verify", "internal/note", "compare/record", "compare/plan",
	},
	"compare/schedule":  {".", "internal/note", "compare/record", "compare/plan"},
	"gemmtest/cudatest": {".", "cuda"},
	"cuda/explain": {
		"internal/occupancy", "internal/output", ".", "cuda/guest", "cuda/sass", "compare/record", "cuda",
	},
	"cuda/recipe": {".", "cuda"},
	"cuda/remote": {
		"gf256", "half", "internal/child", "internal/frame", "internal/timeline", ".", "cuda/wire", "internal/block",
		"cuda",
	},
	"parallel": {"gf256", "half", "internal/cpu", ".", "internal/busy", "internal/pseudocode", "pool", "serial"},
	"reference": {
		"gf256", "internal/cpu", "internal/trust", ".", "internal/busy", "internal/dl", "internal/note",
		"internal/peer", "internal/pseudocode", "internal/python", "serial",
	},

	"compare/report/analysis/coursework": {
		".", "compare/record", "compare/report/analysis", "compare/report/analysis/claim",
	},
	"compare/run": {
		"internal/child", "internal/cpu", "internal/frame", "internal/occupancy", "internal/output",
		"internal/sample", ".", "compare/record", "compare/plan", "compare/run/turn", "compare/schedule",
	},
	"lib": {"internal/cpu", ".", "internal/block", "blas", "serial", "cuda/recipe", "parallel"},
	"mpi": {
		"gf256", "half", "internal/cpu", "internal/sample", "internal/timeline", ".", "internal/kernel",
		"internal/peak", "internal/block", "internal/busy", "internal/dl", "internal/note", "internal/pseudocode",
		"mpi/launch", "mpi/memory", "compare/record", "serial", "parallel", "reference",
	},

	"cmd/catalog": {"internal/tuned", ".", "cuda/kernels", "cuda", "serial", "parallel", "reference", "mpi"},
	"compare":     {".", "compare/record", "compare/plan", "compare/run/turn", "compare/schedule", "compare/run"},
	"compare/probe": {
		"internal/sample", ".", "internal/kernel", "internal/block", "pool", "compare/record", "compare/plan",
		"parallel", "reference", "compare/run",
	},
	"compare/report/figures": {
		"compare/report/chart", "compare/report/number", "internal/occupancy", "internal/timeline", ".",
		"internal/topology", "compare/record", "compare/report/analysis", "compare/report/analysis/lab",
		"compare/report/analysis/coursework",
	},

	"gemmtest/reporttest": {
		"compare/report/chart", "internal/child", ".", "internal/topology", "internal/note", "compare/record",
		"cmd/catalog",
	},
	"cmd/tune": {
		"internal/cpu", "internal/occupancy", "internal/sample", "internal/tuned", ".", "internal/kernel",
		"internal/settings", "compare/verify", "internal/block", "pool", "compare/record", "compare/plan", "cuda",
		"cuda/remote", "compare/run", "cmd/catalog", "compare",
	},
	"compare/report/chapters": {
		"compare/report/number", ".", "compare/report/page", "internal/note", "compare/record",
		"compare/report/analysis", "compare/report/analysis/claim", "compare/report/analysis/lab",
		"compare/report/analysis/coursework", "compare/report/figures",
	},

	"compare/report": {
		"compare/report/chart", "internal/child", "internal/output", "compare/report/page", "compare/record",
		"compare/report/analysis", "compare/report/figures", "compare/report/chapters",
	},

	"cmd": {
		"gf256", "half", "internal/child", "internal/cpu", "internal/frame", "internal/occupancy", "internal/output",
		"internal/sample", "internal/starter", "internal/tuned", ".", "internal/kernel", "internal/peak",
		"internal/settings", "internal/topology", "compare/verify", "cuda/guest", "cuda/sass", "cuda/wire",
		"internal/block", "internal/matfile", "shard", "mpi/launch", "compare/record", "user",
		"compare/plan", "compare/report/trace", "cuda", "serial", "compare/run/turn", "cuda/explain", "cuda/remote",
		"parallel", "compare/run", "mpi", "cmd/catalog", "compare", "compare/probe", "cmd/tune",
		"compare/report/chapters", "compare/report",
	},
	"cmd/pages": {
		"compare/report/chart", "compare/report/number", "internal/sample", ".", "compare/report/page",
		"compare/record", "cuda", "cmd/catalog", "compare/report/chapters", "compare/report",
	},
}

// testOnly lists the packages that only tests import.
var testOnly = []string{"gemmtest", "gemmtest/reporttest"}

// externalTable says which packages of this module may import a package from
// elsewhere; a path covers those below it. What is not listed may be imported
// anywhere but in the root package, which rootExternal rules.
var externalTable = map[string][]string{
	"github.com/urfave/cli":            {"cmd/gemm"},
	"github.com/schollz":               {"cmd/gemm"},
	"gonum.org/v1/plot":                {"compare/report/chart", "compare/report/figures"},
	"github.com/yuin/goldmark":         {"compare/report/page"},
	"github.com/wyatt915/treeblood":    {"compare/report/page"},
	"go.yaml.in/yaml":                  {"compare", "compare/report/text", "internal/note", "cmd/pages"},
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

// row returns the key of importTable that covers pkg, "" if none does: pkg
// itself or the nearest folder above it.
func row(pkg string) string {
	for dir := pkg; ; dir = path.Dir(dir) {
		if _, ok := importTable[dir]; ok && (dir != "." || pkg == ".") {
			return dir
		}
		if dir == "." {
			return ""
		}
	}
}

// checkLayout returns the faults of the Go files in fsys, and the imports of this module's packages
// that they contain.
func checkLayout(fsys fs.FS) (made map[arrow]bool, err error) {
	var errs []error
	made = map[arrow]bool{}
	files := token.NewFileSet()
	documented := map[string]bool{} // by folder, of packages that are not only tests
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			base := entry.Name()
			if name != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		source, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
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
	for _, dir := range slices.Sorted(maps.Keys(documented)) {
		if row(dir) == "" {
			errs = append(errs, fmt.Errorf("%s: the package has no row in the import table; give it one in layout_test.go", dir))
		}
		if !documented[dir] {
			errs = append(errs, fmt.Errorf("%s: the package has no doc comment", dir))
		}
	}
	return made, errors.Join(errs...)
}

// arrow is an import of one row of importTable by another.
type arrow struct{ importer, imported string }

// needless returns an error for each import that table allows and nobody makes.
func needless(table map[string][]string, made map[arrow]bool) error {
	var errs []error
	for _, importer := range slices.Sorted(maps.Keys(table)) {
		for _, imported := range table[importer] {
			if !made[arrow{importer, imported}] {
				errs = append(errs, fmt.Errorf("%s may import %s, and does not; take it out of importTable", importer, imported))
			}
		}
	}
	return errors.Join(errs...)
}

// checkImports checks the imports of one file of the package in dir, and notes in made those
// of this module.
func checkImports(dir, name string, file *ast.File, test bool, made map[arrow]bool) error {
	var errs []error
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !test && under(imported, module) {
			made[arrow{row(dir), row(inModule(imported))}] = true
		}
		if err := checkImport(dir, imported, test); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		if !test && under(imported, module) && spec.Name != nil && spec.Name.Name == "_" {
			errs = append(errs, fmt.Errorf("%s: imports %s for its side effects; lists are explicit here", name, imported))
		}
	}
	return errors.Join(errs...)
}

// checkImport checks that the package in dir may import the package imported.
func checkImport(dir, imported string, test bool) error {
	if !under(imported, module) {
		return checkExternal(dir, imported, test)
	}
	importer, covered := row(dir), row(inModule(imported))
	switch {
	case test || importer == "": // checkLayout says that it has no row
		return nil
	case covered == "":
		return fmt.Errorf("imports %s, which has no row in the import table", imported)
	case slices.Contains(testOnly, covered) && importer != covered:
		return fmt.Errorf("imports %s, which is for tests", imported)
	case importer != covered && !slices.Contains(importTable[importer], covered):
		return fmt.Errorf("imports %s; it may import %s of this module", imported, strings.Join(importTable[importer], ", "))
	}
	return nil
}

// checkExternal checks that the package in dir may import the package imported,
// which is not of this module.
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
	starting = []string{"internal/child", "gemmtest"}
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
			errs = append(errs, fmt.Errorf("%v: calls %s of a command; internal/child starts processes, and ends them with this one", files.Position(f.Sel.Pos()), f.Sel.Name))
		}
		return true
	})
	return errors.Join(errs...)
}

// pure are the packages whose results depend on their arguments alone: they may not import what is in asking, nor use
// the functions of package time in clocks.
var (
	pure   = []string{"compare/plan", "compare/schedule"}
	asking = []string{"os", "runtime", "syscall", "math/rand", "net", module + "/internal/cpu"}
	clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}
)

// checkPure checks that a file of a pure package asks neither the host nor the clock.
func checkPure(files *token.FileSet, dir string, file *ast.File) error {
	if !slices.Contains(pure, dir) {
		return nil
	}
	var errs []error
	impure := func(n ast.Node, what string) {
		errs = append(errs, fmt.Errorf("%v: uses %s; the package is pure", files.Position(n.Pos()), what))
	}
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		if slices.ContainsFunc(asking, func(root string) bool { return under(imported, root) }) ||
			imported == "time" && spec.Name != nil {
			impure(spec, spec.Path.Value)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.SelectorExpr); ok && slices.Contains(clocks, f.Sel.Name) {
			if of, ok := f.X.(*ast.Ident); ok && of.Name == "time" {
				impure(f, "time."+f.Sel.Name)
			}
		}
		return true
	})
	return errors.Join(errs...)
}

// checkDocs checks that every exported name in file has a doc comment. The comment of a group counts
// for all its names.
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
			if receiverExported(decl) {
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

// receiverExported reports whether decl is a function, or a method of an
// exported type.
func receiverExported(decl *ast.FuncDecl) bool {
	if decl.Recv == nil {
		return true
	}
	for receiver := decl.Recv.List[0].Type; ; {
		switch expr := receiver.(type) {
		case *ast.StarExpr:
			receiver = expr.X
		case *ast.IndexExpr: // one type parameter
			receiver = expr.X
		case *ast.IndexListExpr: // several
			receiver = expr.X
		case *ast.Ident:
			return expr.IsExported()
		default:
			return false
		}
	}
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
	made, err := checkLayout(os.DirFS("."))
	if err := errors.Join(err, needless(importTable, made)); err != nil {
		t.Error(err)
	}
}

// circle returns the folders of a circle of imports between folders at the top, nil if there is none. Packages that
// only tests import do not count.
func circle(made map[arrow]bool) []string {
	imports := map[string]map[string]bool{}
	for a := range made {
		from, _, _ := strings.Cut(a.importer, "/")
		to, _, _ := strings.Cut(a.imported, "/")
		if from == to || slices.Contains(testOnly, a.importer) {
			continue
		}
		if imports[from] == nil {
			imports[from] = map[string]bool{}
		}
		imports[from][to] = true
	}
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

// TestNoCircle checks that no folder at the top imports another that imports it, directly or through others.
func TestNoCircle(t *testing.T) {
	made, _ := checkLayout(os.DirFS("."))
	if found := circle(made); found != nil {
		t.Errorf("these folders import each other: %s", strings.Join(found, " -> "))
	}
	planted := map[arrow]bool{{"cuda/device", "compare/record"}: true, {"compare/report", "mpi"}: true,
		{"mpi", "cuda"}: true, {"gemmtest", "mpi"}: true, {"mpi", "internal/cpu"}: true}
	if found := circle(planted); len(found) != 4 {
		t.Errorf("the circle of compare, mpi and cuda is found as %q", found)
	}
}

// TestNeedless allows an import that no package makes. The error must name it.
func TestNeedless(t *testing.T) {
	table := map[string][]string{"serial": {".", "internal/block"}}
	err := needless(table, map[arrow]bool{{"serial", "."}: true})
	if err == nil || !strings.Contains(err.Error(), "serial may import internal/block, and does not") ||
		strings.Contains(err.Error(), "import .,") {
		t.Errorf("got %v", err)
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
		"upwards": {map[string]string{
			"serial/ikj.go": doc + "package serial\nimport \"MODULE/compare\"\n",
		}, "serial/ikj.go: imports MODULE/compare; it may import"},
		"report measures": {map[string]string{
			"compare/report/html.go": doc + "package report\nimport \"MODULE/cmd/catalog\"\n",
		}, "imports MODULE/cmd/catalog"},
		"root imports a library": {map[string]string{
			"doc.go": doc + "package gemm\nimport \"gonum.org/v1/gonum/stat\"\n",
		}, "the contract imports only"},
		"root imports serial": {map[string]string{
			"doc.go": doc + "package gemm\nimport \"MODULE/serial\"\n",
		}, "doc.go: imports MODULE/serial"},
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
		"process that nobody ends": {map[string]string{
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
		"package without a row": {map[string]string{
			"extra/extra.go": doc + "package extra\n",
		}, "extra: the package has no row"},
		"import without a row": {map[string]string{
			"cmd/gemm/main.go": doc + "package main\nimport \"MODULE/extra\"\n",
		}, "imports MODULE/extra, which has no row"},
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
			_, err := checkLayout(tree)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("a clean tree fails: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}
