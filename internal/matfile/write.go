package matfile

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gemm"
)

// permissions of a new file, before the umask.
const permissions = 0o644

// Writable returns an error unless Write can be expected to write name: the
// extension is known, what is there already is a file and no device, and the
// folder is there and can be written to.
func Writable(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: is no regular file; name another", name)
	}
	p, err := newPending(name)
	if err != nil {
		return unwritable(name, err)
	}
	return p.Cleanup()
}

// Write writes m to the file called name, in the format that its extension says.
// The file is replaced when the new one is whole and on the disk; an error leaves
// what was there.
func Write[T gemm.Element](name string, m gemm.Matrix[T]) error {
	if err := Writable(name); err != nil {
		return err
	}
	if err := m.Check(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p, err := newPending(name)
	if err != nil {
		return unwritable(name, err)
	}
	defer p.Cleanup() // nothing, once it has replaced the file
	w := bufio.NewWriterSize(p, 1<<16)
	switch extension(name) {
	case ".npy":
		err = writeNPY(w, m)
	case ".mtx":
		err = writeMTX(w, m)
	default:
		err = writeCSV(w, m)
	}
	if err == nil {
		err = p.CloseAtomicallyReplace()
	}
	if err != nil {
		return unwritable(name, err)
	}
	return nil
}

// unwritable says why name cannot be written, without the name of the temporary
// file that stands in for it.
func unwritable(name string, err error) error {
	var fault *fs.PathError
	if errors.As(err, &fault) {
		err = fault.Err
	}
	return fmt.Errorf("%s: cannot be written: %w", name, err)
}

// folder returns the folder of name, where the temporary file goes so that it
// can be renamed.
func folder(name string) string { return filepath.Dir(name) }
