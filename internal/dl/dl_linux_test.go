package dl

import (
	"runtime"
	"strings"
	"testing"
)

// TestOpen calls a function of a library that is always there.
func TestOpen(t *testing.T) {
	const name = "libc.so.6"
	l, err := Open(name)
	if err != nil {
		t.Skipf("%v on %s", err, runtime.GOARCH)
	}
	var abs func(int32) int32
	if err := l.Bind(map[string]any{"abs": &abs}); err != nil || abs(-3) != 3 {
		t.Errorf("%v, |-3| = %d", err, abs(-3))
	}
	if _, err := l.Symbol("gemm_nothing"); err == nil || err.Error() != name+" has no gemm_nothing" {
		t.Errorf("a symbol that is not there: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	_, err = Open("libnowhere.so.7")
	if err == nil || !Absent("libnowhere.so.7", err) || strings.Contains(err.Error(), "\n") {
		t.Errorf("a library that is not there: %v", err)
	}
}
