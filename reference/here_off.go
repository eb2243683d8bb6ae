//go:build !((linux && !android && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || (darwin && !ios && (amd64 || arm64)))

package reference

import (
	"errors"
	"runtime"
	"unsafe"
)

// errNoLoader is all that there is to say of libraries here.
var errNoLoader = errors.New("libraries cannot be opened at run time on " + runtime.GOOS + "/" + runtime.GOARCH)

// here is this process, as a place for libraries: there is none.
type here struct{}

func (*here) setenv(string, string) error         { return errNoLoader }
func (*here) open(string) error                   { return errNoLoader }
func (*here) openGlobal(string) error             { return errNoLoader }
func (*here) unload() error                       { return errNoLoader }
func (*here) find(string) (uintptr, error)        { return 0, errNoLoader }
func (*here) integer(string, ...int) (int, error) { return 0, errNoLoader }
func (*here) text(string, ...int) (string, error) { return "", errNoLoader }
func (*here) buffer(string) (string, error)       { return "", errNoLoader }
func (*here) first(uintptr) error                 { return errNoLoader }
func (*here) expendable() bool                    { return false }
func (*here) maps() string                        { return "" }

func invoke(uintptr, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer,
	unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer) {
}
