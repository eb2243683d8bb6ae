package nvrtc

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gemm/internal/output"
)

// Compiler is a Library, or what stands before one.
type Compiler interface {
	Version() string
	Compile(p Program) (Image, error)
}

// Cache is a Compiler that keeps compiled images on disk, one file each. The key has everything
// that the image depends on: source, name, options, architecture and compiler. Files may be removed
// at any time. A file that is incomplete, or that another user can have written, is compiled again.
type Cache struct {
	Compiler
	Folder string // is made if it is missing
	// StoreErr is the first error of the disk, which fails no product: nothing is kept then.
	StoreErr error
}

// Folder returns the folder for compiled kernels.
func Folder() (string, error) {
	dir, err := output.CacheFolder()
	return filepath.Join(dir, "cuda"), err
}

// Name implements a Compiler that says which build of a version it is.
func (l *Library) Name() string {
	name := l.Version() + " " + l.File
	// A toolkit that is replaced by another of the same version has other files.
	if info, err := os.Stat(l.File); err == nil {
		name += fmt.Sprint(" ", info.Size(), " ", info.ModTime().UnixNano())
	}
	return name
}

// entry is the first line of a file; the code follows.
type entry struct {
	Schema   int               `json:"schema"`
	Key      string            `json:"key"`
	Sum      string            `json:"sha256"` // of the code
	Kernels  map[string]Kernel `json:"kernels"`
	Warnings string            `json:"warnings"`
}

const schema = 1

// key returns what identifies the image of a program.
func (c *Cache) key(p Program) string {
	compiler := c.Version()
	if named, ok := c.Compiler.(interface{ Name() string }); ok {
		compiler = named.Name()
	}
	// Every part is preceded by its length, so that different programs have different sums.
	h := sha256.New()
	for _, part := range append([]string{compiler, p.Name, p.Source, p.architecture()}, p.Options...) {
		fmt.Fprintf(h, "%d %s ", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Compile returns the image of the program, from the disk if it is there. A program that may include
// files is compiled each time.
func (c *Cache) Compile(p Program) (Image, error) {
	if p.Include != "" {
		return c.Compiler.Compile(p)
	}
	key := c.key(p)
	file := filepath.Join(c.Folder, key+".cubin")
	image, err := read(file, key)
	if err == nil {
		return image, nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errCorrupt) {
		c.StoreErr = cmp.Or(c.StoreErr, err)
	}
	if image, err = c.Compiler.Compile(p); err != nil {
		return Image{}, err
	}
	if c.StoreErr == nil {
		c.StoreErr = write(file, key, image)
	}
	return image, nil
}

// errCorrupt is the error of a file that is damaged.
var errCorrupt = errors.New("nvrtc: the file is not whole")

func read(file, key string) (Image, error) {
	if err := output.TrustFile(file); err != nil {
		return Image{}, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return Image{}, err
	}
	line, code, _ := bytes.Cut(data, []byte("\n"))
	var e entry
	if json.Unmarshal(line, &e) != nil || e.Schema != schema || e.Key != key || e.Sum != sum(code) {
		return Image{}, errCorrupt
	}
	return Image{code, e.Warnings, e.Kernels}, nil
}

func write(file, key string, image Image) error {
	line, err := json.Marshal(entry{schema, key, sum(image.Code), image.Kernels, image.Warnings})
	if err != nil {
		return err
	}
	if err := output.MakeFolder(filepath.Dir(file)); err != nil {
		return err
	}
	return output.Write(file, append(append(line, '\n'), image.Code...), 0o600, true)
}

func sum(code []byte) string {
	s := sha256.Sum256(code)
	return hex.EncodeToString(s[:])
}
