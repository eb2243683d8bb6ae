package cpu

import (
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
