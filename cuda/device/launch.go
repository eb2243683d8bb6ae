//go:build cuda

package device

// #include <cuda.h>
// #include <stdlib.h>
import "C"

import (
	"sync"
	"unsafe"

	"gemm"
	"gemm/cuda"
	"gemm/internal/dl"
)

// argument is an argument of a kernel: 8 bytes, or a map of the matrix at an address.
type argument struct {
	bits uint64
	box  *cuda.TensorMap
}

// launch starts the kernel. Each argument is 8 bytes wide or stands at the beginning of 8.
func (d *Device) launch(k *kernel, grid, block [3]int, shared int, arguments []uint64) error {
	all := make([]argument, len(arguments))
	for i, bits := range arguments {
		all[i].bits = bits
	}
	return d.launchMapped(k, grid, block, shared, all)
}

// What the driver takes for a map: its bytes, and what its address is a multiple of.
const (
	mapBytes = 128
	mapAlign = 64
)

// launchMapped starts the kernel. The driver copies the arguments before it returns.
func (d *Device) launchMapped(k *kernel, grid, block [3]int, shared int, arguments []argument) error {
	const word = 8
	room := C.aligned_alloc(mapAlign, C.size_t(len(arguments)+1)*(mapBytes+word+mapAlign)/mapAlign*mapAlign)
	defer C.free(room)
	pointers := unsafe.Slice((*unsafe.Pointer)(unsafe.Add(room, len(arguments)*mapBytes)), len(arguments)+1)
	for i, a := range arguments {
		pointers[i] = unsafe.Add(room, i*mapBytes)
		if a.box == nil {
			*(*uint64)(pointers[i]) = a.bits
		} else if err := encode(pointers[i], a.bits, *a.box); err != nil {
			return err
		}
	}
	return driverError("cuLaunchKernel", C.cuLaunchKernel(handle(k.function),
		C.uint(grid[0]), C.uint(grid[1]), C.uint(grid[2]), C.uint(block[0]), C.uint(block[1]), C.uint(block[2]),
		C.uint(shared), C.CUstream(unsafe.Pointer(d.stream.C())), &pointers[0], nil))
}

// The driver's numbers for what a map can be.
const (
	mapFloat16  = 6 // CU_TENSOR_MAP_DATA_TYPE_FLOAT16
	mapFloat32  = 7 // CU_TENSOR_MAP_DATA_TYPE_FLOAT32
	mapBFloat16 = 9 // CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
	swizzle128  = 3 // CU_TENSOR_MAP_SWIZZLE_128B
	promote256  = 3 // CU_TENSOR_MAP_L2_PROMOTION_L2_256B
	mapRank     = 2
	interleaved = 0
	outsideZero = 0
)

// encodeMap is the driver's cuTensorMapEncodeTiled, which drivers before 12.0 do not have: it cannot be
// linked.
var encodeMap = sync.OnceValues(func() (encoder, error) {
	driver, err := dl.Open("libcuda.so.1")
	if err != nil {
		return nil, err
	}
	address, err := driver.Symbol("cuTensorMapEncodeTiled")
	if err != nil {
		return nil, gemm.Unavailablef("the driver has no cuTensorMapEncodeTiled").
			WithRemedy("install one for CUDA 12 or newer")
	}
	var encode encoder
	dl.Register(&encode, address)
	return encode, nil
})

type encoder func(to unsafe.Pointer, typ, rank uint32, address uint64, dims, strides *uint64, box, steps *uint32,
	interleave, swizzle, promotion, outside uint32) int32

// encode writes the map of the matrix at an address on the device.
func encode(to unsafe.Pointer, address uint64, m cuda.TensorMap) error {
	encode, err := encodeMap()
	if err != nil {
		return err
	}
	typ := map[string]uint32{"f32": mapFloat32, "f16": mapFloat16, "bf16": mapBFloat16}[m.Type]
	dims := [mapRank]uint64{uint64(m.Cols), uint64(m.Rows)}
	strides := [mapRank - 1]uint64{uint64(m.LD) * uint64(m.ElementSize())}
	box, steps := [mapRank]uint32{uint32(m.BoxCols), uint32(m.BoxRows)}, [mapRank]uint32{1, 1}
	return driverError("cuTensorMapEncodeTiled", C.CUresult(encode(to, typ, mapRank, address, &dims[0], &strides[0],
		&box[0], &steps[0], interleaved, swizzle128, promote256, outsideZero)))
}
