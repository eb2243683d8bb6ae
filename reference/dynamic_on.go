//go:build (linux && !android && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || (darwin && !ios && (amd64 || arm64))

package reference

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// dynamic is an opened library.
type dynamic struct {
	name   string
	handle uintptr
}

// open opens a library by its path, or by its name among the system's.
func open(name string) (*dynamic, error) {
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	return &dynamic{name, handle}, nil
}

// openGlobal opens a library whose symbols others are to find.
func openGlobal(name string) error {
	_, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	return err
}

// close unloads the library.
func (d *dynamic) close() { _ = purego.Dlclose(d.handle) }

// symbol returns the address of a symbol.
func (d *dynamic) symbol(name string) (uintptr, error) {
	address, err := purego.Dlsym(d.handle, name)
	if err != nil {
		return 0, fmt.Errorf("%s has no %s: it is not the library meant", d.name, name)
	}
	return address, nil
}

// bind makes functions of the library callable, by pointers to Go functions of
// the same types.
func (d *dynamic) bind(functions map[string]any) error {
	for name, to := range functions {
		address, err := d.symbol(name)
		if err != nil {
			return err
		}
		purego.RegisterFunc(to, address)
	}
	return nil
}

// setenv sets a variable in the environment that libraries see, and not in the one
// that children of this process inherit.
func setenv(name, value string) error {
	address, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return err
	}
	var set func(name, value string, overwrite int32) int32
	purego.RegisterFunc(&set, address)
	if set(name, value, 1) != 0 {
		return fmt.Errorf("reference: setting %s=%s failed", name, value)
	}
	return nil
}

// invoke calls sgemm_ or dgemm_ with its arguments in order. Fortran's compilers
// append the lengths of the strings.
func invoke(routine uintptr, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc unsafe.Pointer) {
	purego.SyscallN(routine,
		uintptr(tA), uintptr(tB), uintptr(m), uintptr(n), uintptr(k), uintptr(alpha),
		uintptr(a), uintptr(lda), uintptr(b), uintptr(ldb), uintptr(beta), uintptr(c), uintptr(ldc),
		1, 1)
}
