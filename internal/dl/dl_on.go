//go:build (linux && !android && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || (darwin && !ios && (amd64 || arm64))

package dl

import (
	"fmt"
	"runtime"

	"github.com/ebitengine/purego"
)

// The visibility of the symbols of a library.
const (
	local  = purego.RTLD_LOCAL
	global = purego.RTLD_GLOBAL
)

// open stays on one thread: what dlerror says is of the thread on which dlopen failed.
func open(name string, visible int) (*Library, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|visible)
	if err != nil {
		return nil, firstLine(err)
	}
	return &Library{name, handle}, nil
}

// Close unloads the library, unless it is open elsewhere too.
func (l *Library) Close() error { return firstLine(purego.Dlclose(l.handle)) }

// Symbol returns the address of a symbol of the library.
func (l *Library) Symbol(name string) (uintptr, error) {
	address, err := purego.Dlsym(l.handle, name)
	if err != nil {
		return 0, l.lacks(name)
	}
	return address, nil
}

// Register has f, a pointer to a variable of a function type, call the function at the address.
func Register(f any, address uintptr) { purego.RegisterFunc(f, address) }

// Call calls the function at the address with integers and pointers, and returns what it
// leaves in the register of results.
//
//go:uintptrescapes
func Call(address uintptr, arguments ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(address, arguments...)
	return result
}

// Setenv sets a variable in the environment that libraries of this process see; its children do not inherit it.
func Setenv(name, value string) error {
	address, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return firstLine(err)
	}
	var set func(name, value string, overwrite int32) int32
	Register(&set, address)
	if set(name, value, 1) != 0 {
		return fmt.Errorf("dl: setting %s=%s failed", name, value)
	}
	return nil
}
