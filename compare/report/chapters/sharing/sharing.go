// Package sharing has the chapters on sharing the work among threads and among ranks.
package sharing

import "gemm/compare/report/chapters"

// builder builds the sections of this package.
type builder struct{ *chapters.Builder }
