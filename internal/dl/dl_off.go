//go:build !((linux && !android && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || (darwin && !ios && (amd64 || arm64)))

package dl

import (
	"errors"
	"runtime"
)

// The visibility of the symbols of a library.
const local, global = 0, 0

// errNone is all that there is to say of libraries here.
var errNone = errors.New("libraries cannot be opened at run time on " + runtime.GOOS + "/" + runtime.GOARCH)

func open(string, int) (*Library, error) { return nil, errNone }

// Close unloads the library.
func (l *Library) Close() error { return errNone }

// Symbol returns the address of a symbol of the library.
func (l *Library) Symbol(name string) (uintptr, error) { return 0, l.lacks(name) }

// Register has f call the function at the address. There is none: no library is open.
func Register(any, uintptr) {}

// Call calls the function at the address. There is none: no library is open.
func Call(uintptr, ...uintptr) uintptr { return 0 }

// Setenv sets a variable in the environment that libraries of this process see.
func Setenv(string, string) error { return errNone }
