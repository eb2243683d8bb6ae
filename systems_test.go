package gemm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systems are the systems that every package is built for, and js/wasm for the libraries in pure Go.
const systems = "darwin/arm64 windows/amd64 linux/arm64 linux/riscv64 linux/386 freebsd/amd64 js/wasm"

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir string
	GoFiles, SFiles []string
	ImportMap       map[string]string
	Standard        bool
	Module          *struct{ Main bool }
}

// checkSystem checks the types of packages and of their tests for a system, and that functions without a body can have
// one in assembly. Nothing is compiled, and bodies of functions of other modules are not checked, so it takes much less
// time than go vet. Assembly and linking are not checked.
func (s *source) checkSystem(dir, system string, patterns ...string) error {
	goos, goarch, _ := strings.Cut(system, "/")
	cmd := exec.Command("go", append([]string{"list", "-deps", "-test",
		"-json=ImportPath,Dir,GoFiles,SFiles,ImportMap,Standard,Module"}, patterns...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c := checker{source: s, sizes: types.SizesFor("gc", goarch),
		done: map[string]*types.Package{"unsafe": types.Unsafe}}
	for in := json.NewDecoder(out); ; { // a package comes after those that it imports
		var p listed
		if err := in.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return errors.Join(err, cmd.Wait())
		}
		c.check(p)
	}
	return errors.Join(append(c.errs, cmd.Wait())...)
}

type checker struct {
	*source
	sizes types.Sizes
	done  map[string]*types.Package
	errs  []error // in packages of the main module
}

// source keeps files that have been parsed, which are the same for most systems.
type source struct {
	fset   *token.FileSet
	parsed map[string]*ast.File
}

func (s *source) parse(name string) (*ast.File, error) {
	if file := s.parsed[name]; file != nil {
		return file, nil
	}
	file, err := parser.ParseFile(s.fset, name, nil, parser.SkipObjectResolution)
	if err == nil {
		s.parsed[name] = file
	}
	return file, err
}

func (c *checker) check(p listed) {
	if strings.HasSuffix(p.ImportPath, ".test") || p.ImportPath == "unsafe" {
		return
	}
	ours := p.Module != nil && p.Module.Main
	fail := func(err error) {
		if ours {
			c.errs = append(c.errs, err)
		}
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := c.parse(filepath.Join(p.Dir, name))
		if err != nil {
			fail(err)
			continue
		}
		files = append(files, file)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body == nil && len(p.SFiles) == 0 {
				fail(fmt.Errorf("%s: %s has no body, and there is no assembly", c.fset.Position(f.Pos()), f.Name))
			}
		}
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	imports := func(path string) (*types.Package, error) {
		if to := p.ImportMap[path]; to != "" {
			path = to
		}
		if found := c.done[path]; found != nil {
			return found, nil
		}
		return nil, fmt.Errorf("%s is not listed", path)
	}
	conf := types.Config{IgnoreFuncBodies: !ours, Sizes: c.sizes, Error: fail, Importer: importer(imports)}
	c.done[p.ImportPath], _ = conf.Check(path, c.fset, files, nil)
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }

// TestSystems checks every package for the systems that GEMM_TEST_SYSTEMS lists, or all.
func TestSystems(t *testing.T) {
	list := os.Getenv("GEMM_TEST_SYSTEMS")
	switch list {
	case "":
		t.Skip("make cross runs it")
	case "all":
		list = systems
	}
	s := &source{token.NewFileSet(), map[string]*ast.File{}}
	for _, system := range strings.Fields(list) {
		t.Run(system, func(t *testing.T) {
			patterns := []string{"./..."}
			if system == "js/wasm" {
				patterns = []string{".", "./blas", "./gf256", "./half", "./lapack", "./rs"}
			}
			if err := s.checkSystem(".", system, patterns...); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSystemsFaults plants what only one system refuses.
func TestSystemsFaults(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module planted\n\ngo 1.26\n", "a.go": "package planted\n",
		"a_windows.go":   "package planted\n\nvar _ int = \"a\"\n",
		"a_386.go":       "package planted\n\nconst large int = 1 << 40\n",
		"a_darwin.go":    "package planted\n\nfunc missing()\n",
		"b_wasm_test.go": "package planted\n\nimport \"testing\"\n\nvar _ = testing.None\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for system, want := range map[string]string{"windows/amd64": "a_windows.go:3:13", "linux/386": "overflows",
		"darwin/arm64": "missing has no body", "js/wasm": "undefined: testing.None", "linux/arm64": ""} {
		s := &source{token.NewFileSet(), map[string]*ast.File{}}
		if err := s.checkSystem(dir, system, "./..."); (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", system, err, want)
		}
	}
}
