package gf256

import "unsafe"

// Bytes returns elems as bytes, sharing their memory.
func Bytes(elems []Elem) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elems))), len(elems))
}
