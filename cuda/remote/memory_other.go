//go:build !linux

package remote

import (
	"os"
	"unsafe"

	"gemm"
)

// Shared returns the file that the process that started this program handed down: none.
func Shared() *os.File { return nil }

// memory is nothing: there is none that this program could share.
type memory struct{ file *os.File }

var errShared = gemm.Unavailablef("gemm computes on GPUs on Linux only")

func newMemory() (*memory, error)                             { return nil, errShared }
func openMemory(file *os.File) *memory                        { return &memory{file} }
func (*memory) grow(int64) (segment, error)                   { return segment{}, errShared }
func (*memory) mapped(segment) ([]byte, error)                { return nil, errShared }
func (*memory) unmap(segment) error                           { return errShared }
func (*memory) drop(segment) error                            { return errShared }
func (*memory) bytes(int64, int64) ([]byte, bool)             { return nil, false }
func (*memory) find(unsafe.Pointer, int64) (at int64, _ bool) { return 0, false }
func (*memory) close()                                        {}
