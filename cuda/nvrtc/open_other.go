//go:build !(linux && !android && (amd64 || arm64))

package nvrtc

import (
	"fmt"
	"runtime"

	"gemm"
)

// functions: there are none.
type functions struct{}

// errNoLoader is what there is to say on a system without a loader of libraries.
var errNoLoader = fmt.Errorf("%w: libraries cannot be opened at run time on %s/%s", gemm.ErrUnavailable, runtime.GOOS, runtime.GOARCH)

// Open opens the library of that name or path.
func Open(string) (*Library, error) { return nil, errNoLoader }

func (*Library) compile(string, string, []string) (code []byte, log string, err error) {
	return nil, "", errNoLoader
}
