//go:build (linux && !android && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || (darwin && !ios && (amd64 || arm64))

package reference

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// here is this process, as a place for libraries.
type here struct {
	name   string
	handle uintptr
}

// setenv implements place. Children of this process do not inherit the setting.
func (*here) setenv(name, value string) error {
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

func (h *here) open(name string) error {
	handle, err := dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return err
	}
	*h = here{name, handle}
	return nil
}

func (*here) openGlobal(name string) error {
	_, err := dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	return err
}

// dlopen stays on one thread: what dlerror says is of that on which dlopen failed.
func dlopen(name string, mode int) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(name, mode)
	return handle, firstLine(err)
}

func (h *here) unload() error { return firstLine(purego.Dlclose(h.handle)) }

func (h *here) find(symbol string) (uintptr, error) {
	for _, name := range decorated(symbol) {
		if address, err := purego.Dlsym(h.handle, name); err == nil {
			return address, nil
		}
	}
	return 0, fmt.Errorf("%s has no %s: it is not the library meant", h.name, symbol)
}

// call calls a function of one integer or none and returns what it leaves in the
// register of results.
func (h *here) call(symbol string, argument []int) (uintptr, error) {
	address, err := h.find(symbol)
	if err != nil {
		return 0, err
	}
	registers := make([]uintptr, len(argument))
	for i, x := range argument {
		registers[i] = uintptr(x)
	}
	result, _, _ := purego.SyscallN(address, registers...)
	return result, nil
}

func (h *here) integer(symbol string, argument ...int) (int, error) {
	result, err := h.call(symbol, argument)
	return int(int32(result)), err
}

func (h *here) text(symbol string, argument ...int) (string, error) {
	address, err := h.find(symbol)
	if err != nil {
		return "", err
	}
	if len(argument) == 0 {
		var f func() string
		purego.RegisterFunc(&f, address)
		return f(), nil
	}
	var f func(int) string
	purego.RegisterFunc(&f, address)
	return f(argument[0]), nil
}

func (h *here) buffer(symbol string) (string, error) {
	address, err := h.find(symbol)
	if err != nil {
		return "", err
	}
	text := make([]byte, 256)
	purego.SyscallN(address, uintptr(unsafe.Pointer(unsafe.SliceData(text))), uintptr(len(text)-1))
	written, _, _ := strings.Cut(string(text), "\x00")
	return written, nil
}

func (*here) first(dgemm uintptr) error {
	s := &scalars[float64]{m: 1, n: 1, k: 1, lda: 1, ldb: 1, ldc: 1, alpha: 1, tA: 'N', tB: 'N'}
	x := new(float64)
	s.invoke(dgemm, unsafe.Pointer(x), unsafe.Pointer(x), unsafe.Pointer(new(float64)))
	return nil
}

func (*here) expendable() bool { return false }

func (*here) maps() string { return "/proc/self/maps" }

// firstLine returns an error of the first line of err's text, nil of nil.
func firstLine(err error) error {
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(text)
}

// invoke calls sgemm_ or dgemm_ with its arguments in order. Fortran's compilers
// append the lengths of the strings.
func invoke(routine uintptr, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc unsafe.Pointer) {
	purego.SyscallN(routine,
		uintptr(tA), uintptr(tB), uintptr(m), uintptr(n), uintptr(k), uintptr(alpha),
		uintptr(a), uintptr(lda), uintptr(b), uintptr(ldb), uintptr(beta), uintptr(c), uintptr(ldc),
		1, 1)
}
