// Package matfile reads and writes matrices in files: NumPy's .npy, Matrix Market's .mtx, and .csv. The
// file name's extension selects the format.
//
// Reading has two steps, so that the caller can refuse a matrix that does not fit in memory. Open reads the header,
// compares it with the size of the file, and returns the shape and type. Read allocates the matrix and reads the
// elements. Write writes a temporary file, which replaces the old file when it is complete.
//
// An error is one line with the file, the line or offset, the value, and what to do.
//
// These errors are the reason why the formats are parsed here. npyio v0.9.0, a library for .npy, reads zeros if data
// are cut off between two elements, panics if a header has no line end, and does not know version 3; the tests compare
// with it. No Go library for Matrix Market reads both formats with every real field and symmetry.
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

// File is a matrix in an open file. Its header has been read and agrees with the file's size.
type File struct {
	Rows, Cols int
	// Type is the narrowest element type that holds the elements. For .npy it is f64, f32, f16 or bf16 as stored,
	// and gf256 for bytes; for text it is f64.
	Type string

	name string
	data *io.SectionReader // the whole file
	body any               // npyBody, mtxBody or, of CSV, nil
	file io.Closer
	// vanished is the error of the first element that has become 0 in half precision; nil: there is none.
	vanished error
}

// Open opens the matrix file called name and reads its shape and type. A .csv file has no header, so Open
// counts its rows and columns. Rows·Cols·8 fits in an int; the caller decides whether it fits in
// memory. If ctx ends, Open and a later Read of the file return its error.
func Open(ctx context.Context, name string) (*File, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	info, err := os.Stat(name) // before it is opened: opening a pipe blocks until another process writes to it
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Unwrap(err)) // without the name of the call
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

func (r interruptible) ReadAt(p []byte, offset int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, offset)
}

// parse reads the header from data; name is the name of the file.
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

// Read returns the matrix in f. Elements of another floating-point type are rounded to T. A finite element that would
// become an infinity or a zero is an error; in half precision, zeros are one if all elements would become zero.
// Elements of GF(2⁸) are read only from bytes in .npy files and from integers below 256 in text.
func Read[T gemm.Element](f *File) (gemm.Matrix[T], error) {
	m := gemm.NewMatrix[T](f.Rows, f.Cols)
	var err error
	switch body := f.body.(type) {
	case npyBody:
		err = readNPY(f, body, m)
	case mtxBody:
		err = readMTX(f, body, m)
	default:
		err = readCSV(f, m)
	}
	if err == nil && f.vanished != nil && isZero(m) {
		err = f.vanished
	}
	if err != nil {
		return gemm.Matrix[T]{}, fmt.Errorf("%s: %w", f.name, err)
	}
	return m, nil
}

// isZero reports whether all elements are 0 or −0.
func isZero[T gemm.Element](m gemm.Matrix[T]) bool {
	var zero T
	for _, x := range m.Data {
		if x != zero && negative(x) != zero {
			return false
		}
	}
	return true
}

// CheckName returns an error unless name has the extension of a known format.
func CheckName(name string) error {
	switch extension(name) {
	case ".npy", ".mtx", ".csv":
		return nil
	}
	return fmt.Errorf("%s: the name ends neither in .npy nor in .mtx nor in .csv", name)
}

func extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

// checkShape returns an error unless a rows×cols matrix can be addressed: both dimensions are not
// negative, and 8·rows·cols fits in an int.
func checkShape(rows, cols int) error {
	if rows < 0 || cols < 0 {
		return fmt.Errorf("shape %d×%d is negative; the file is corrupt", rows, cols)
	}
	if hi, lo := bits.Mul64(uint64(rows), uint64(cols)); hi != 0 || lo > math.MaxInt/8 {
		return fmt.Errorf("shape %d×%d is too large to address", rows, cols)
	}
	return nil
}
