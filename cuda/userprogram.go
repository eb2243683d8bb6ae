package cuda

import (
	"gemm/cuda/nvrtc"
	"gemm/cuda/userkernel"
)

// headers are the texts of headers that sources of users include and NVRTC has not: it declares by itself what
// kernels use of them.
var headers = map[string]string{
	"cuda.h": "", "cuda_runtime.h": "", "cuda_runtime_api.h": "", "device_launch_parameters.h": "",
	"stdio.h": "", "cstdio": "", "stdlib.h": "", "cstdlib": "", "math.h": "", "cmath": "",
	"assert.h": "", "cassert": "",
	"stdint.h": integerTypes, "cstdint": integerTypes,
}

const integerTypes = `#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t;
`

// UserProgram returns the source of a kernel of the user's as it is compiled for a compute capability, 90 for 9.0.
func UserProgram(k userkernel.Kernel, arch int) nvrtc.Program {
	return nvrtc.Program{Name: k.File, Source: k.Source, Arch: arch, Include: k.Folder, Headers: headers}
}
