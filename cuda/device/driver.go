//go:build cuda

package device

// #include <cuda.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
	"gemm/internal/dl"
)

// What gorgonia.org/cu has no call for.

// driverError is the driver's name and text of a code.
func driverError(call string, code C.CUresult) error {
	if code == C.CUDA_SUCCESS {
		return nil
	}
	var name, text *C.char
	C.cuGetErrorName(code, &name)
	C.cuGetErrorString(code, &text)
	if name == nil || text == nil {
		return fmt.Errorf("cuda: %s: error %d", call, int(code))
	}
	return fmt.Errorf("cuda: %s: %s (%s)", call, C.GoString(text), C.GoString(name))
}

// failed puts the name of the call before an error of gorgonia.org/cu.
func failed(call string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cuda: %s: %w", call, err)
}

// handle returns the driver's handle, which a Function keeps in its one field.
func handle(f cu.Function) C.CUfunction {
	const _ = -uint(unsafe.Sizeof(f) ^ unsafe.Sizeof(C.CUfunction(nil))) // its one field
	return *(*C.CUfunction)(unsafe.Pointer(&f))
}

// allowShared permits launches of f to request the given bytes of shared memory, beyond the 48 KiB
// that every kernel may have.
func allowShared(f cu.Function, bytes int) error {
	return driverError("cuFuncSetAttribute",
		C.cuFuncSetAttribute(handle(f), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes)))
}

// busID returns where the device is on the PCI bus, such as 0000:3b:00.0: by numbers NVML and
// CUDA_VISIBLE_DEVICES may mean others.
func busID(d cu.Device) (string, error) {
	const length = 32
	text := (*C.char)(C.calloc(length, 1))
	defer C.free(unsafe.Pointer(text))
	err := driverError("cuDeviceGetPCIBusId", C.cuDeviceGetPCIBusId(text, length, C.CUdevice(d)))
	return C.GoString(text), err
}

// profilerStart and profilerStop are the limits of what a profiler sees if it does not profile from the start.
func profilerStart() error { return driverError("cuProfilerStart", C.cuProfilerStart()) }
func profilerStop() error  { return driverError("cuProfilerStop", C.cuProfilerStop()) }

// mostPitch is how many bytes the driver lets rows of a copy be apart
// (CU_DEVICE_ATTRIBUTE_MAX_PITCH). Rows that are further apart are copied one by one.
const mostPitch = 1<<31 - 1

// copyRows starts to copy rows of the given bytes between host and device. For each end, either the
// host address or the device address is given.
func copyRows(toHost unsafe.Pointer, to cu.DevicePtr, toPitch int64, fromHost unsafe.Pointer, from cu.DevicePtr,
	fromPitch, width, rows int64, on cu.Stream) error {
	if width == 0 || rows == 0 {
		return nil
	}
	if rows == 1 {
		fromPitch, toPitch = width, width
	}
	if max(fromPitch, toPitch) > mostPitch {
		behind := func(host unsafe.Pointer, bytes int64) unsafe.Pointer {
			if host == nil {
				return nil
			}
			return unsafe.Add(host, bytes)
		}
		for i := range rows {
			if err := copyRows(behind(toHost, i*toPitch), to+cu.DevicePtr(i*toPitch), width, behind(fromHost, i*fromPitch),
				from+cu.DevicePtr(i*fromPitch), width, width, 1, on); err != nil {
				return err
			}
		}
		return nil
	}
	p := (*C.CUDA_MEMCPY2D)(C.calloc(1, C.sizeof_CUDA_MEMCPY2D)) // of C: it holds addresses of Go
	defer C.free(unsafe.Pointer(p))
	p.WidthInBytes, p.Height = C.size_t(width), C.size_t(rows)
	p.srcPitch, p.dstPitch = C.size_t(max(fromPitch, width)), C.size_t(max(toPitch, width))
	p.srcMemoryType, p.srcDevice = C.CU_MEMORYTYPE_DEVICE, C.CUdeviceptr(from)
	if fromHost != nil {
		p.srcMemoryType = C.CU_MEMORYTYPE_HOST
		*(*uintptr)(unsafe.Pointer(&p.srcHost)) = uintptr(fromHost)
	}
	p.dstMemoryType, p.dstDevice = C.CU_MEMORYTYPE_DEVICE, C.CUdeviceptr(to)
	if toHost != nil {
		p.dstMemoryType = C.CU_MEMORYTYPE_HOST
		*(*uintptr)(unsafe.Pointer(&p.dstHost)) = uintptr(toHost)
	}
	return driverError("cuMemcpy2DAsync", C.cuMemcpy2DAsync(p, C.CUstream(unsafe.Pointer(on.C()))))
}

// pinned takes memory of the host that is locked in place, for copies that the device makes by itself.
func pinned(bytes int64) (at unsafe.Pointer, err error) {
	err = driverError("cuMemHostAlloc", C.cuMemHostAlloc(&at, C.size_t(bytes), C.CU_MEMHOSTALLOC_PORTABLE))
	return at, err
}

// ipcHandle returns what another process opens memory of the device by, from its first byte on.
func ipcHandle(m memory) ([]byte, error) {
	var h C.CUipcMemHandle
	err := driverError("cuIpcGetMemHandle", C.cuIpcGetMemHandle(&h, C.CUdeviceptr(m.at)))
	return C.GoBytes(unsafe.Pointer(&h), C.int(unsafe.Sizeof(h))), err
}

// ipcOpen opens memory of another process, on any GPU that the context can read.
func ipcOpen(handle []byte) (cu.DevicePtr, error) {
	var h C.CUipcMemHandle
	var at C.CUdeviceptr
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&h)), unsafe.Sizeof(h)), handle)
	err := driverError("cuIpcOpenMemHandle", C.cuIpcOpenMemHandle(&at, h, C.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
	return cu.DevicePtr(at), err
}

func ipcClose(at cu.DevicePtr) error {
	return driverError("cuIpcCloseMemHandle", C.cuIpcCloseMemHandle(C.CUdeviceptr(at)))
}

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
	mapUint8    = 0 // CU_TENSOR_MAP_DATA_TYPE_UINT8
	mapFloat16  = 6 // CU_TENSOR_MAP_DATA_TYPE_FLOAT16
	mapFloat32  = 7 // CU_TENSOR_MAP_DATA_TYPE_FLOAT32
	mapBFloat16 = 9 // CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
	swizzle128  = 3 // CU_TENSOR_MAP_SWIZZLE_128B
	promote256  = 3 // CU_TENSOR_MAP_L2_PROMOTION_L2_256B
	mapRank     = 2
	interleaved = 0
	outsideZero = 0
)

// encodeMap is the driver's cuTensorMapEncodeTiled, which drivers before 12.0 do not have: it cannot be linked.
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
	typ := map[string]uint32{"f32": mapFloat32, "f16": mapFloat16, "bf16": mapBFloat16, "int8": mapUint8}[m.Type]
	dims := [mapRank]uint64{uint64(m.Cols), uint64(m.Rows)}
	strides := [mapRank - 1]uint64{uint64(m.LD) * uint64(m.ElementSize())}
	box, steps := [mapRank]uint32{uint32(m.BoxCols), uint32(m.BoxRows)}, [mapRank]uint32{1, 1}
	return driverError("cuTensorMapEncodeTiled", C.CUresult(encode(to, typ, mapRank, address, &dims[0], &strides[0],
		&box[0], &steps[0], interleaved, swizzle128, promote256, outsideZero)))
}
