package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Scratch is a folder for temporary files of this process.
type Scratch struct {
	Path string
	lock *flock.Flock // of the marker; nil if the file system has none
}

// marker is the file in each scratch folder that its process locks.
const marker = ".gemm-scratch"

// NewScratch makes a folder gemm-PURPOSE-DIGITS in the system's folder for temporary files, and
// removes the scratch folders of killed processes there. purpose has no hyphen.
func NewScratch(purpose string) (*Scratch, error) { return NewScratchIn(os.TempDir(), purpose) }

// NewScratchIn is NewScratch in another folder.
func NewScratchIn(dir, purpose string) (*Scratch, error) {
	sweepScratch(dir)
	for {
		path := filepath.Join(dir, "gemm-"+purpose+"-"+digits())
		switch err := os.Mkdir(path, 0o700); {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return nil, err
		}
		name := filepath.Join(path, marker)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			return nil, errors.Join(err, os.Remove(path))
		}
		if lock, held := hold(name); held {
			return &Scratch{path, lock}, nil
		}
	}
}

// Remove removes the folder with what is in it.
func (s *Scratch) Remove() {
	clearFolder(s.Path)
	release(s.lock)
}

// sweepScratch removes the scratch folders in dir that killed processes left.
func sweepScratch(dir string) {
	began := time.Now()
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		path, parts := filepath.Join(dir, entry.Name()), strings.Split(entry.Name(), "-")
		if !entry.IsDir() || len(parts) != 3 || parts[0] != "gemm" || parts[1] == "" || !isDigits(parts[2]) {
			continue
		}
		if lock := abandoned(filepath.Join(path, marker), began); lock != nil {
			clearFolder(path)
			release(lock)
		}
	}
}

// clearFolder removes a scratch folder. The marker goes last: if the process is killed, what is left is still known.
func clearFolder(path string) {
	entries, _ := os.ReadDir(path)
	for _, entry := range entries {
		if entry.Name() != marker {
			_ = os.RemoveAll(filepath.Join(path, entry.Name()))
		}
	}
	_ = os.Remove(filepath.Join(path, marker))
	_ = os.Remove(path)
}
