package reference

import (
	"cmp"
	"fmt"
	"strings"
	"unsafe"

	"gemm/internal/dl"
)

// inProcess is this process, as a place for libraries.
type inProcess struct{ *dl.Library }

func (*inProcess) Setenv(name, value string) error { return dl.Setenv(name, value) }

func (h *inProcess) Open(name string) (err error) {
	h.Library, err = dl.Open(name)
	return err
}

func (*inProcess) OpenGlobal(name string) error {
	_, err := dl.OpenGlobal(name)
	return err
}

func (h *inProcess) Unload() error { return h.Close() }

func (h *inProcess) Find(symbol string) (uintptr, error) {
	var first error
	for _, name := range decorated(symbol) {
		address, err := h.Symbol(name)
		if err == nil {
			return address, nil
		}
		first = cmp.Or(first, err)
	}
	return 0, fmt.Errorf("%w: it is not the library meant", first)
}

// call calls a function of one integer or none and returns what it leaves in the register of results.
func (h *inProcess) call(symbol string, argument []int) (uintptr, error) {
	address, err := h.Find(symbol)
	if err != nil {
		return 0, err
	}
	registers := make([]uintptr, len(argument))
	for i, x := range argument {
		registers[i] = uintptr(x)
	}
	return dl.Call(address, registers...), nil
}

func (h *inProcess) Integer(symbol string, argument ...int) (int, error) {
	result, err := h.call(symbol, argument)
	return int(int32(result)), err
}

func (h *inProcess) Text(symbol string, argument ...int) (string, error) {
	address, err := h.Find(symbol)
	if err != nil {
		return "", err
	}
	if len(argument) == 0 {
		var f func() string
		dl.Register(&f, address)
		return f(), nil
	}
	var f func(int) string
	dl.Register(&f, address)
	return f(argument[0]), nil
}

func (h *inProcess) Buffer(symbol string) (string, error) {
	address, err := h.Find(symbol)
	if err != nil {
		return "", err
	}
	text := make([]byte, 256)
	dl.Call(address, uintptr(unsafe.Pointer(unsafe.SliceData(text))), uintptr(len(text)-1))
	written, _, _ := strings.Cut(string(text), "\x00")
	return written, nil
}

func (*inProcess) first(dgemm uintptr) error {
	s := &scalars[float64]{m: 1, n: 1, k: 1, lda: 1, ldb: 1, ldc: 1, alpha: 1, tA: 'N', tB: 'N'}
	x := new(float64)
	s.invoke(dgemm, unsafe.Pointer(x), unsafe.Pointer(x), unsafe.Pointer(new(float64)))
	return nil
}

func (*inProcess) expendable() bool { return false }

func (*inProcess) Maps() string { return "/proc/self/maps" }
