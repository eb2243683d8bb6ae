package cpu

import (
	"os"
	"testing"
	"unsafe"
)

// TestReleasePages gives memory back that is not zero. The zeros afterwards show what was given back:
// whole pages, and nothing outside the range.
func TestReleasePages(t *testing.T) {
	page := os.Getpagesize()
	for _, span := range [][2]int{{0, 0}, {10, 20}, {1, page}, {5, 3*page + 7}, {0, 4 * page}} {
		data := make([]byte, 6*page)
		for i := range data {
			data[i] = 7
		}
		part := data[page+span[0] : page+span[1]]
		address := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
		ReleasePages(unsafe.Pointer(unsafe.SliceData(part)), uintptr(len(part)))
		for i, b := range data {
			first := (address + uintptr(i)) &^ uintptr(page-1) // byte of the page
			whole := first >= address+uintptr(page+span[0]) && first+uintptr(page) <= address+uintptr(page+span[1])
			if whole != (b == 0) {
				t.Fatalf("of the bytes %v, byte %d is %d", span, i-page, b)
			}
		}
	}
}
