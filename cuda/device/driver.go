//go:build cuda

package device

// #include <cuda.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
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

// pinned takes memory of the host that is locked in place, for copies that the device makes
// by itself.
func pinned(bytes int64) (at unsafe.Pointer, err error) {
	err = driverError("cuMemHostAlloc", C.cuMemHostAlloc(&at, C.size_t(bytes), C.CU_MEMHOSTALLOC_PORTABLE))
	return at, err
}
