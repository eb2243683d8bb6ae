//go:build !amd64

package vector

import "unsafe"

func axpys(uintptr, int, int, unsafe.Pointer, unsafe.Pointer, int, unsafe.Pointer, unsafe.Pointer) {}
func ger(uintptr, int, int, unsafe.Pointer, unsafe.Pointer, int, unsafe.Pointer, unsafe.Pointer)   {}
func triangle(uintptr, int, int, int, int, int, int, unsafe.Pointer, unsafe.Pointer, int, int, unsafe.Pointer,
	unsafe.Pointer, int, bool) {
}
