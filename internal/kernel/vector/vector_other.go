//go:build !amd64

package vector

import "unsafe"

// Fast says that there is assembly.
const Fast = false

func dot(size uintptr, n int, x, y, sum unsafe.Pointer) (left int)        { return }
func axpy(size uintptr, n int, x, y, alpha unsafe.Pointer) (left int)     { return }
func scal(size uintptr, n int, x, alpha unsafe.Pointer) (left int)        { return }
func swap(size uintptr, n int, x, y unsafe.Pointer) (left int)            { return }
func rot(size uintptr, n int, x, y, c, s unsafe.Pointer) (left int)       { return }
func asum(size uintptr, n int, x, sum unsafe.Pointer) (left int)          { return }
func squares(size uintptr, n int, x, sum unsafe.Pointer) (left int)       { return }
func amax(size uintptr, n int, x, most unsafe.Pointer) (left int)         { return }
func find(size uintptr, n int, x, value unsafe.Pointer) (first int)       { return }
func pairDot(size uintptr, n int, x, y, sums unsafe.Pointer) (left int)   { return }
func pairAxpy(size uintptr, n int, x, y, alpha unsafe.Pointer) (left int) { return }
func pairScal(size uintptr, n int, x, alpha unsafe.Pointer) (left int)    { return }

func axpys(uintptr, int, int, unsafe.Pointer, unsafe.Pointer, int, unsafe.Pointer, unsafe.Pointer) {}
func column(uintptr, int, int, unsafe.Pointer, unsafe.Pointer, int, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer,
	int) {
}
func ger(uintptr, int, int, unsafe.Pointer, unsafe.Pointer, int, unsafe.Pointer, unsafe.Pointer) {}
func triangle(uintptr, int, int, int, int, int, int, unsafe.Pointer, unsafe.Pointer, int, int, unsafe.Pointer,
	unsafe.Pointer, int, bool) {
}
