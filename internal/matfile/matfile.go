// Package matfile reads and writes matrices in files: NumPy's .npy, Matrix
// Market's .mtx and .csv. The extension of the name says which.
//
// Reading is in two steps, so that the caller can refuse a matrix that it has no
// room for: Open reads the header, holds it against the size of the file and
// says what is there; Read allocates and reads the elements. Writing goes to a
// temporary file that replaces the old one when it is whole.
//
// Errors are one line: the file, the line or offset, the value, and what to do.
//
// The formats are parsed here for the sake of that. npyio v0.9.0, which reads
// .npy, takes data that are cut off between two elements for zeros, panics on a
// header without a line end and does not know version 3; it is what the tests
// compare with. No Go library for Matrix Market reads both its formats in every
// real field and symmetry.
package matfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"strings"

	"gemm"
)

// File is a matrix in an open file whose header has been read and found
// consistent with the file's size.
type File struct {
	Rows, Cols int
	// Type is the narrowest element type that holds the elements: f32 or f64 as
	// stored in .npy, gf256 for bytes there, f64 for text.
	Type string

	name string
	data *io.SectionReader // the whole file
	body any               // npyBody, mtxBody or csvBody
	file io.Closer
}

// Open opens the matrix file called name and reads its shape and type; of a .csv,
// which has no header, it counts the rows and columns. The product Rows·Cols·8
// fits in an int; whether it fits in memory is for the caller to decide. When ctx
// ends, Open and a later Read of the file return its error.
func Open(ctx context.Context, name string) (*File, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	info, err := os.Stat(name) // before it is opened: to open a pipe blocks until somebody writes to it
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file; save the matrix in one first", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	f, err := parse(name, io.NewSectionReader(interruptible{ctx, file}, 0, info.Size()))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	f.file = file
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// interruptible is a ReaderAt that returns the error of ctx once ctx has ended.
type interruptible struct {
	ctx context.Context
	io.ReaderAt
}

// ReadAt implements io.ReaderAt.
func (r interruptible) ReadAt(p []byte, offset int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, offset)
}

// parse reads the header of the file called name with the given data.
func parse(name string, data *io.SectionReader) (*File, error) {
	f := &File{name: name, data: data}
	var err error
	switch extension(name) {
	case ".npy":
		err = f.parseNPY()
	case ".mtx":
		err = f.parseMTX()
	default:
		err = f.parseCSV()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// Read returns the matrix in f. Elements of another floating-point type are
// rounded to T. A finite element that T cannot hold, because it would become an
// infinity or a zero, is an error. Elements of the field are read from bytes in
// .npy and from integers below 256 in text, and from nothing else.
func Read[T gemm.Element](f *File) (gemm.Matrix[T], error) {
	m := gemm.NewMatrix[T](f.Rows, f.Cols)
	var err error
	switch body := f.body.(type) {
	case npyBody:
		err = readNPY(f, body, m)
	case mtxBody:
		err = readMTX(f, body, m)
	case csvBody:
		err = readCSV(f, body, m)
	}
	if err != nil {
		return gemm.Matrix[T]{}, fmt.Errorf("%s: %w", f.name, err)
	}
	return m, nil
}

// CheckName returns an error unless name has the extension of a format that this
// package knows.
func CheckName(name string) error {
	switch extension(name) {
	case ".npy", ".mtx", ".csv":
		return nil
	}
	return fmt.Errorf("%s: the name ends neither in .npy nor in .mtx nor in .csv", name)
}

// extension returns the extension of name in lower case.
func extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

// checkShape returns an error unless a rows×cols matrix can be addressed: no
// dimension negative, and 8·rows·cols an int.
func checkShape(rows, cols int) error {
	if rows < 0 || cols < 0 {
		return fmt.Errorf("shape %d×%d is negative; the file is corrupt", rows, cols)
	}
	if hi, lo := bits.Mul64(uint64(rows), uint64(cols)); hi != 0 || lo > math.MaxInt/8 {
		return fmt.Errorf("shape %d×%d is too large to address", rows, cols)
	}
	return nil
}
