//go:build !((linux && !android && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || (darwin && !ios && (amd64 || arm64)))

package reference

import (
	"errors"
	"runtime"
	"unsafe"
)

// errNoLoader is all that there is to say of libraries here.
var errNoLoader = errors.New("libraries cannot be opened at run time on " + runtime.GOOS + "/" + runtime.GOARCH)

type dynamic struct{}

func open(string) (*dynamic, error) { return nil, errNoLoader }

func openGlobal(string) error { return errNoLoader }

func (*dynamic) close() {}

func (*dynamic) symbol(string) (uintptr, error) { return 0, errNoLoader }

func (*dynamic) bind(map[string]any) error { return errNoLoader }

func setenv(string, string) error { return errNoLoader }

func invoke(uintptr, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer,
	unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer) {
}
