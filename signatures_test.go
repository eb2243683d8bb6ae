package gemm_test

import (
	"errors"
	"fmt"
	"go/ast"
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

// publicPackage is the declarations of a package that other modules can import.
type publicPackage struct {
	types   map[string]*ast.TypeSpec
	methods map[string][]*ast.FuncDecl
	others  []ast.Node                      // exported functions, and specifications of values
	owner   map[ast.Node]*ast.File          // of each of these
	imports map[*ast.File]map[string]string // packages that others cannot import, by their names in a file
	aliases map[string]bool                 // types of such packages to which a public package gives a name
	files   *token.FileSet
	errs    []error
	seen    map[string]bool // types that have been visited
}

// isPublic reports whether other modules can import the package in dir.
func isPublic(dir string) bool {
	return !slices.Contains(strings.Split(dir, "/"), "internal") && !under(dir, "cmd") && !under(dir, "examples")
}

// checkSignatures returns an error for each exported declaration in fsys that names a type of an
// internal package: another module could not write the type's name, unless a public package has an alias for it. It
// sees through types that are not exported but that exported ones are made of.
func checkSignatures(fsys fs.FS) error {
	packages, aliases := map[string]*publicPackage{}, map[string]bool{}
	err := walkGo(fsys, func(name string, source []byte) error {
		dir := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") || !isPublic(dir) {
			return nil
		}
		if packages[dir] == nil {
			packages[dir] = &publicPackage{
				types: map[string]*ast.TypeSpec{}, methods: map[string][]*ast.FuncDecl{},
				owner: map[ast.Node]*ast.File{}, imports: map[*ast.File]map[string]string{}, aliases: aliases,
				files: token.NewFileSet(), seen: map[string]bool{},
			}
		}
		return packages[dir].add(name, source)
	})
	errs := []error{err}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		errs = append(errs, packages[dir].check())
	}
	return errors.Join(errs...)
}

// add adds the declarations of a file.
func (p *publicPackage) add(name string, source []byte) error {
	file, err := parser.ParseFile(p.files, name, source, parser.SkipObjectResolution)
	if err != nil || file.Name.Name == "main" {
		return err
	}
	p.imports[file] = map[string]string{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if under(imported, module) && slices.Contains(strings.Split(imported, "/"), "internal") {
			local := path.Base(imported)
			if spec.Name != nil {
				local = spec.Name.Name
			}
			p.imports[file][local] = imported
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			p.owner[decl] = file
			switch {
			case !decl.Name.IsExported():
			case decl.Recv == nil:
				p.others = append(p.others, decl)
			default:
				of := receiver(decl)
				p.methods[of] = append(p.methods[of], decl)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				p.owner[spec] = file
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					p.types[spec.Name.Name] = spec
					if of, ok := spec.Type.(*ast.SelectorExpr); ok && spec.Assign.IsValid() && spec.Name.IsExported() {
						p.aliases[p.internal(file, of)] = true
					}
				case *ast.ValueSpec:
					if slices.ContainsFunc(spec.Names, (*ast.Ident).IsExported) {
						p.others = append(p.others, spec)
					}
				}
			}
		}
	}
	return nil
}

// internal returns the type that the selector names, by its package's path, if other modules cannot import that
// package; otherwise "".
func (p *publicPackage) internal(file *ast.File, of *ast.SelectorExpr) string {
	if id, ok := of.X.(*ast.Ident); ok && p.imports[file][id.Name] != "" {
		return p.imports[file][id.Name] + "." + of.Sel.Name
	}
	return ""
}

// receiver returns the name of the type whose method decl is.
func receiver(decl *ast.FuncDecl) (name string) {
	ast.Inspect(decl.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// check returns the faults of the package.
func (p *publicPackage) check() error {
	for _, name := range slices.Sorted(maps.Keys(p.types)) {
		if ast.IsExported(name) {
			p.visitType(name)
		}
	}
	for _, node := range p.others {
		switch node := node.(type) {
		case *ast.FuncDecl:
			p.visit(p.owner[node], node.Name.Name, node.Type)
		case *ast.ValueSpec:
			p.visitValue(node)
		}
	}
	return errors.Join(p.errs...)
}

// visitType checks a type with its methods. Types are not visited twice.
func (p *publicPackage) visitType(name string) {
	spec := p.types[name]
	if spec == nil || p.seen[name] {
		return
	}
	p.seen[name] = true
	if spec.TypeParams != nil {
		p.visit(p.owner[spec], name, spec.TypeParams)
	}
	p.visit(p.owner[spec], name, spec.Type)
	for _, method := range p.methods[name] {
		p.visit(p.owner[method], name+"."+method.Name.Name, method.Type)
	}
}

// visitValue checks the type of a variable or constant: the declared one, or the one that its value
// shows.
func (p *publicPackage) visitValue(spec *ast.ValueSpec) {
	file := p.owner[spec]
	if spec.Type != nil {
		p.visit(file, spec.Names[0].Name, spec.Type)
		return
	}
	for _, value := range spec.Values {
		if of, ok := value.(*ast.UnaryExpr); ok {
			value = of.X
		}
		switch value := value.(type) {
		case *ast.CompositeLit:
			p.visit(file, spec.Names[0].Name, value.Type)
		case *ast.CallExpr:
			p.visit(file, spec.Names[0].Name, value.Fun)
		}
	}
}

// visit checks a type expression of the declaration called name. Of structs it checks the exported
// fields and what is embedded, of interfaces the exported methods.
func (p *publicPackage) visit(file *ast.File, name string, expr ast.Node) {
	ast.Inspect(expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			p.visitFields(file, name, n.Fields)
			return false
		case *ast.InterfaceType:
			p.visitFields(file, name, n.Methods)
			return false
		case *ast.Field: // a parameter; its name is no type
			p.visit(file, name, n.Type)
			return false
		case *ast.SelectorExpr:
			if of := p.internal(file, n); of != "" && !p.aliases[of] {
				p.errs = append(p.errs, fmt.Errorf("%s: %s names %s, of a package that other modules cannot import",
					p.files.Position(n.Pos()), name, path.Base(of)))
			}
			return false
		case *ast.Ident:
			if !n.IsExported() {
				p.visitType(n.Name)
			}
		}
		return true
	})
}

func (p *publicPackage) visitFields(file *ast.File, name string, fields *ast.FieldList) {
	for _, field := range fields.List {
		if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
			p.visit(file, name, field.Type)
		}
	}
}

// TestSignatures checks the packages of this module that others can import.
func TestSignatures(t *testing.T) {
	if err := checkSignatures(os.DirFS(".")); err != nil {
		t.Error(err)
	}
}

// TestSignatureFaults plants declarations that name an internal type, or do so in a hidden place.
func TestSignatureFaults(t *testing.T) {
	for code, want := range map[string]string{
		"func F(l block.Loop) {}":                                        "F names block.Loop",
		"func F() (x int, l []*block.Loop) { return 0, nil }":            "F names block.Loop",
		"func F[T block.Loop](x T) {}":                                   "F names block.Loop",
		"type X struct{ block.Loop }":                                    "X names block.Loop",
		"type X struct{ L map[string]block.Loop }":                       "X names block.Loop",
		"type X interface{ M(block.Loop) }":                              "X names block.Loop",
		"type X int\nfunc (x *X) M() block.Loop { return nil }":          "X.M names block.Loop",
		"type X[T any] int\nfunc (x X[T]) M(f func(block.Loop)) {}":      "X.M names block.Loop",
		"type y = block.Loop\nfunc F(y) {}":                              "y names block.Loop",
		"type y struct{}\nfunc (y) M(block.Loop) {}\ntype X struct{ y }": "y.M names block.Loop",
		"var V block.Loop":                                               "V names block.Loop",
		"var V = &block.Field{}":                                         "V names block.Field",
		"var V = block.Host[float64](nil)":                               "V names block.Host",
		"func F() { var l block.Loop; _ = l }":                           "",
		"func f(block.Loop) {}":                                          "",
		"type X struct{ l block.Loop }":                                  "",
		"type X struct{}\nfunc (X) m(block.Loop) {}":                     "",
		"type x struct{}\nfunc (x) M(block.Loop) {}":                     "",
	} {
		file := func(pkg, code string) *fstest.MapFile {
			head := "package " + pkg + "\nimport \"" + module + "/internal/block\"\n"
			return &fstest.MapFile{Data: []byte(head + code)}
		}
		tree := fstest.MapFS{
			"serial/x.go":          file("serial", code),
			"serial/x_test.go":     {Data: []byte("package")},
			"internal/kernel/x.go": file("kernel", "var X block.Loop"),
			"cmd/gemm/x.go":        file("main", "var X block.Loop"),
		}
		err := checkSignatures(tree)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", code, err, want)
		}
	}
}
