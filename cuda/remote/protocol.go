// Package remote has gemm-cuda, the GPU program, describe GPUs and compute products. gemm-cuda multiply serves products
// until its input ends. Operands lie in memory that both processes map: an unnamed file that gemm makes and passes as
// file 3. Pipes carry a frame for each request and each reply, whose text is JSON; operands are offsets in this file.
// Several requests may be in flight; a reply has the number of its request.
//
//	gemm                                 gemm-cuda
//	map 0 {"id":1,"segment":…}       →   maps a part of the file, pins it for the GPU if requested
//	                                 ←   reply 0 {"id":1}
//	multiply 0 {"id":2,"a":…}        →   reads A and B, writes C
//	multiply 0 {"id":3,"a":…}        →
//	                                 ←   reply 0 {"id":2,"stages":…}
//	cancel 0 {"id":3}                →   ends product 3 early; its reply says so
//	                                 ←   reply 0 {"id":3,"error":"context canceled"}
//	unmap 0 {"id":4,"segment":…}     →
//	                                 ←   reply 0 {"id":4}
package remote

import (
	"time"
	"unsafe"

	"gemm/internal/timeline"

	"gemm"
)

// protocol is the version of requests and replies.
const protocol = 4

// Product is C ← α·A·B + β·C as the variant computes it; C ← A·B in GF(2⁸).
type product[T gemm.Element] struct {
	Variant     string
	Params      gemm.Params
	Alpha, Beta float64
	A, B, C     gemm.Matrix[T]
}

// What a request has the program do.
const (
	doMap      = "map"
	doUnmap    = "unmap"
	doMultiply = "multiply"
	doCancel   = "cancel"
)

// request is one frame to the program.
type request struct {
	Protocol int    `json:"protocol"`
	ID       int64  `json:"id"` // a request to cancel has the ID of the product
	Do       string `json:"-"`  // the word of the frame
	// Segment is what is mapped or unmapped. Pin: products of the variant will copy from it and to it.
	Segment segment `json:"segment,omitzero"`
	Pin     bool    `json:"pin,omitempty"`

	Variant string      `json:"variant,omitempty"`
	Type    string      `json:"type,omitempty"`
	Params  gemm.Params `json:"params,omitempty"`
	gemm.Shape
	Alpha float64 `json:"alpha,omitempty"`
	Beta  float64 `json:"beta,omitempty"`
	A     place   `json:"a,omitzero"`
	B     place   `json:"b,omitzero"`
	C     place   `json:"c,omitzero"`

	Handles map[int][]byte `json:"handles,omitempty"` // by rank
	Steps   []Step         `json:"steps,omitempty"`
	Last    bool           `json:"last,omitempty"`
}

// segment is a part of the file that both processes map.
type segment struct {
	At    int64 `json:"at"`
	Bytes int64 `json:"bytes"`
}

// place says where a matrix lies in the file.
type place struct {
	At     int64 `json:"at"`     // its first byte
	Stride int   `json:"stride"` // from matrix row to matrix row, in elements
}

// reply is one frame from the program.
type reply struct {
	ID    int64  `json:"id"`
	Error string `json:"error,omitempty"`
	// Unavailable says that the error wraps gemm.ErrUnavailable.
	Unavailable bool `json:"unavailable,omitempty"`
	// Stages are the stages of a product that a Streamer computed.
	Stages []timeline.Stage `json:"stages,omitempty"`
	Handle []byte           `json:"handle,omitempty"`
	Done   Done             `json:"done,omitzero"`
}

// stopTime is how long the program has to end what was cancelled, and to free the device when its input ends.
const stopTime = 5 * time.Second

// mostInflight is how many products may be in flight.
const mostInflight = 16

// sizeOf returns the bytes of an element.
func sizeOf[T gemm.Element]() int { return gemm.TypeOf[T]().Size }

// elements returns memory as elements. Both processes run on one host, so they have the same byte order.
func elements[T gemm.Element](memory []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(memory))), len(memory)/sizeOf[T]())
}
