package nvrtc

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"gemm/gemmtest"
	"gemm/internal/output"
)

// counter is a Compiler that counts, and whose code is the program's source.
type counter struct {
	version string
	calls   int
	err     error
}

func (c *counter) Version() string { return c.version }

func (c *counter) Compile(p Program) (Image, error) {
	c.calls++
	return Image{[]byte("code of\n" + p.Source), "a warning", map[string]Kernel{"gemm": {Registers: 40}}}, c.err
}

func TestCache(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "folder")
	base := Program{Name: "a.cu", Source: "x", Arch: 80, Options: []string{"-DBM=64", "-DBN=64"}}
	compiler := &counter{version: "13.0"}
	want, _ := compiler.Compile(base)
	compiler.calls = 0
	compile := func(p Program, calls int, what string) {
		t.Helper()
		c := &Cache{Compiler: compiler, Folder: folder} // a new one: nothing is in memory
		compiler.calls = 0
		image, err := c.Compile(p)
		if err != nil || c.StoreErr != nil {
			t.Fatalf("%s: %v, %v", what, err, c.StoreErr)
		}
		if compiler.calls != calls {
			t.Errorf("%s: compiled %d times, want %d", what, compiler.calls, calls)
		}
		if p.Source == base.Source && !reflect.DeepEqual(image, want) {
			t.Errorf("%s: %+v, want %+v", what, image, want)
		}
	}
	compile(base, 1, "first")
	compile(base, 0, "again")
	others := map[string]func(p *Program){
		"source":       func(p *Program) { p.Source = "y" },
		"name":         func(p *Program) { p.Name = "b.cu" },
		"arch":         func(p *Program) { p.Arch = 90 },
		"options":      func(p *Program) { p.Options = []string{"-DBM=64", "-DBN=128"} },
		"order":        func(p *Program) { p.Options = []string{"-DBN=64", "-DBM=64"} },
		"one option":   func(p *Program) { p.Options = []string{"-DBM=64 -DBN=64"} },
		"fewer":        func(p *Program) { p.Options = p.Options[:1] },
		"moved border": func(p *Program) { p.Name, p.Source = "a.c", "ux" },
	}
	for what, change := range others {
		p := base
		change(&p)
		compile(p, 1, what)
		compile(p, 0, what+", again")
	}
	compiler.version = "12.8"
	compile(base, 1, "another compiler")
}

// TestCorrupt checks that damaged files are compiled again and replaced.
func TestCorrupt(t *testing.T) {
	p := Program{Name: "a.cu", Source: "x", Arch: 80}
	for what, damage := range map[string]func(data []byte) []byte{
		"empty":       func([]byte) []byte { return nil },
		"cut":         func(data []byte) []byte { return data[:len(data)-1] },
		"flipped":     func(data []byte) []byte { data[len(data)-2] ^= 1; return data },
		"another key": func(data []byte) []byte { return []byte(strings.Replace(string(data), `"key":"`, `"key":"0`, 1)) },
		"another form": func(data []byte) []byte {
			return []byte(strings.Replace(string(data), `"schema":1`, `"schema":2`, 1))
		},
		"rubbish": func([]byte) []byte { return []byte("rubbish\nrubbish") },
	} {
		compiler := &counter{version: "13.0"}
		c := &Cache{Compiler: compiler, Folder: t.TempDir()}
		if _, err := c.Compile(p); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(c.Folder, "*.cubin"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the folder has %v, %v", files, err)
		}
		data, err := os.ReadFile(files[0])
		gemmtest.Must(t, err)
		gemmtest.Must(t, os.WriteFile(files[0], damage(data), 0o600))
		for range 2 { // once more: it was mended
			image, err := c.Compile(p)
			if err != nil || compiler.calls != 2 || string(image.Code) != "code of\nx" {
				t.Errorf("%s: compiled %d times, %q, %v", what, compiler.calls, image.Code, err)
			}
		}
		if c.StoreErr != nil {
			t.Errorf("%s: %v", what, c.StoreErr)
		}
	}
}

// TestNoRoom checks that there is an image if the disk is full, and an error if there is none.
func TestNoRoom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	gemmtest.Must(t, os.WriteFile(file, nil, 0o600))
	compiler := &counter{version: "13.0"}
	c := &Cache{Compiler: compiler, Folder: filepath.Join(file, "folder")}
	if image, err := c.Compile(Program{Source: "x"}); err != nil || len(image.Code) == 0 {
		t.Errorf("%+v, %v", image, err)
	}
	if c.StoreErr == nil {
		t.Error("nothing is said of a folder that cannot be made")
	}
	compiler.err = errors.New("does not compile")
	c = &Cache{Compiler: compiler, Folder: t.TempDir()}
	for range 2 {
		if _, err := c.Compile(Program{Source: "x"}); !errors.Is(err, compiler.err) {
			t.Errorf("the error is %v", err)
		}
	}
	if compiler.calls != 3 {
		t.Errorf("compiled %d times, want 3: errors are not kept", compiler.calls)
	}
}

// TestWritableByOthers checks that an image that another user may have written is compiled again,
// with a reason.
func TestWritableByOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes here")
	}
	p := Program{Name: "a.cu", Source: "x", Arch: 80}
	for what, open := range map[string]func(c *Cache, file string) error{
		"folder": func(c *Cache, _ string) error { return os.Chmod(c.Folder, 0o777) },
		"file":   func(_ *Cache, file string) error { return os.Chmod(file, 0o666) },
	} {
		compiler := &counter{version: "13.0"}
		c := &Cache{Compiler: compiler, Folder: filepath.Join(t.TempDir(), "cuda")}
		if _, err := c.Compile(p); err != nil || c.StoreErr != nil {
			t.Fatal(err, c.StoreErr)
		}
		gemmtest.Must(t, open(c, filepath.Join(c.Folder, c.key(p)+".cubin")))
		compiler.calls = 0
		for range 2 {
			if image, err := c.Compile(p); err != nil || string(image.Code) != "code of\nx" {
				t.Errorf("%s: %q, %v", what, image.Code, err)
			}
		}
		if compiler.calls != 2 {
			t.Errorf("%s: compiled %d times, want 2", what, compiler.calls)
		}
		if !errors.Is(c.StoreErr, output.ErrUntrusted) {
			t.Errorf("%s: what is said is %v", what, c.StoreErr)
		}
	}
}
