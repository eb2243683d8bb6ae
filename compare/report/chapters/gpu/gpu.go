// Package gpu has the chapters on GPUs and on codes.
package gpu

import "gemm/compare/report/chapters"

// builder builds the sections of this package.
type builder struct{ *chapters.Builder }
