package chapters_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template/parse"

	"gemm/compare/record"
	"gemm/compare/report/chapters"
	"gemm/compare/report/page"
	"gemm/gemmtest/reporttest"
)

const (
	root      = "../../.."
	reference = root + "/docs/templates.md"
)

// builtin returns the source of every chapter in English, and of the example forms, by name.
func builtin(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"en/*.md", root + "/examples/templates/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out[chapters.Name(file)] = string(data)
		}
	}
	return out
}

// TestReference: docs/templates.md has every function with an example, whose result is checked, every chapter by
// name, and every field and method that the chapters print, with its comment and the first line that has it. With
// -update, the list of the latter is written.
func TestReference(t *testing.T) {
	data, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	examples(t, text)
	for name := range chapters.Funcs("en") {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/templates.md has no function %s", name)
		}
	}
	for name := range builtin(t) {
		if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, name+".md") && name != "parts" {
			t.Errorf("docs/templates.md does not name %s", name)
		}
	}
	head, rest, _ := strings.Cut(text, "| Name | Of | What it is | Example |\n|---|---|---|---|\n")
	_, tail, _ := strings.Cut(rest, "\n## ")
	want := head + "| Name | Of | What it is | Example |\n|---|---|---|---|\n" + fields(t) + "\n## " + tail
	if *reporttest.Update {
		if err := os.WriteFile(reference, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != want {
		t.Errorf("docs/templates.md is not current; go test -update writes it: %s", reporttest.FirstDifference(text, want))
	}
}

var exampleRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| .* \\| `(.*)` \\| (.*) \\|$")

// examples fills the example of each function.
func examples(t *testing.T, text string) {
	t.Helper()
	doc, err := record.Load(root + "/results/serial.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range exampleRow.FindAllStringSubmatch(text, -1) {
		source := strings.ReplaceAll(m[2], `\|`, `|`)
		line := strings.Join(strings.Fields(filled(t, "en", source, doc)), " ")
		if line != m[3] && "`"+line+"`" != m[3] || !strings.Contains(source, m[1]) {
			t.Errorf("%s: %s prints %s", m[1], source, line)
		}
	}
}

// fields returns the rows of the table of fields and methods.
func fields(t *testing.T) string {
	t.Helper()
	comments := documented(t)
	sources := builtin(t)
	first := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(sources)) {
		for _, name := range printed(t, file, sources[file]) {
			used := regexp.MustCompile(`\{\{[^{}\n]*\.` + name + `\b[^{}\n]*\}\}`).FindString(sources[file])
			if first[name] == "" && comments[name] != nil && used != "" {
				first[name] = used
			}
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(first)) {
		of := slices.Sorted(maps.Keys(comments[name]))
		var what []string
		for _, one := range of {
			if comment := comments[name][one]; !slices.Contains(what, comment) {
				what = append(what, comment)
			}
		}
		row := fmt.Sprint("`", name, "` | ", strings.Join(of, ", "), " | ", cell(strings.Join(what, " / ")))
		fmt.Fprintf(&b, "| %s | `%s` |\n", row, cell(first[name]))
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// printed returns the names of the fields and methods in a template.
func printed(t *testing.T, name, source string) (names []string) {
	t.Helper()
	trees, tree := map[string]*parse.Tree{}, parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(source, "", "", trees); err != nil {
		t.Fatal(err)
	}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			switch n := v.Interface().(type) {
			case *parse.FieldNode:
				names = append(names, n.Ident...)
			case *parse.VariableNode:
				names = append(names, n.Ident[1:]...)
			case *parse.ChainNode:
				names = append(names, n.Field...)
			}
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i))
				}
			}
		}
	}
	for _, tree := range trees {
		walk(reflect.ValueOf(tree.Root))
	}
	return names
}

// documented returns the first sentence on each exported field and method of the types that templates reach, by name
// and type.
func documented(t *testing.T) map[string]map[string]string {
	t.Helper()
	out, reached := map[string]map[string]string{}, map[string]bool{}
	for of := range page.Reachable(reflect.TypeFor[*chapters.Data]()) {
		reached[of.Name()] = ast.IsExported(of.Name())
		if first, _, _ := strings.Cut(of.PkgPath(), "/"); slices.Contains([]string{"os", "io", "net", "syscall"}, first) {
			t.Errorf("a template reaches %v", of)
		}
	}
	add := func(name *ast.Ident, of string, doc, line *ast.CommentGroup) {
		if !name.IsExported() || !reached[of] {
			return
		}
		text, _, _ := strings.Cut(strings.Join(strings.Fields(doc.Text()+" "+line.Text()), " "), ". ")
		if out[name.Name] == nil {
			out[name.Name] = map[string]string{}
		}
		out[name.Name][of] = strings.TrimSuffix(text, ".")
	}
	for _, dir := range []string{".", "../analysis", "../analysis/*", root, root + "/compare/record",
		root + "/internal/note", root + "/cuda/ladder"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if n.Recv != nil {
						add(n.Name, strings.TrimPrefix(types.ExprString(n.Recv.List[0].Type), "*"), n.Doc, nil)
					}
					return false
				case *ast.TypeSpec:
					if st, ok := n.Type.(*ast.StructType); ok {
						for _, f := range st.Fields.List {
							for _, name := range f.Names {
								add(name, n.Name.Name, f.Doc, f.Comment)
							}
						}
					}
					return false
				}
				return !strings.HasSuffix(file, "_test.go")
			})
		}
	}
	return out
}
