package cpu

import (
	"os"
	"runtime"
	"testing"
	"unsafe"
)

// TestHugePages advises on slices that hold no whole huge page, one, and several,
// and expects their contents to stay.
func TestHugePages(t *testing.T) {
	data := make([]byte, 5*(2<<20)+12345)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for _, span := range [][2]int{{0, 0}, {1, 4097}, {3, len(data)}, {0, len(data)}} {
		part := data[span[0]:span[1]]
		HugePages(unsafe.Pointer(unsafe.SliceData(part)), uintptr(len(part)))
	}
	for i := range data {
		if data[i] != byte(i*7) {
			t.Fatalf("byte %d is %d, want %d", i, data[i], byte(i*7))
		}
	}
}

// TestUntouched gives memory back that is not zero. The zeros afterwards show what was given back:
// whole pages, and nothing outside the range.
func TestUntouched(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux takes memory back so")
	}
	page := os.Getpagesize()
	for _, span := range [][2]int{{0, 0}, {10, 20}, {1, page}, {5, 3*page + 7}, {0, 4 * page}} {
		data := make([]byte, 6*page)
		for i := range data {
			data[i] = 7
		}
		part := data[page+span[0] : page+span[1]]
		address := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
		Untouched(unsafe.Pointer(unsafe.SliceData(part)), uintptr(len(part)))
		for i, b := range data {
			first := (address + uintptr(i)) &^ uintptr(page-1) // byte of the page
			whole := first >= address+uintptr(page+span[0]) && first+uintptr(page) <= address+uintptr(page+span[1])
			if whole != (b == 0) {
				t.Fatalf("of the bytes %v, byte %d is %d", span, i-page, b)
			}
		}
	}
}
