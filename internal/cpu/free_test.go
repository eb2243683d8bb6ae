package cpu

import (
	"runtime"
	"testing"
)

func TestFree(t *testing.T) {
	if got := Free(t.TempDir()); runtime.GOOS == "linux" && got <= 0 {
		t.Errorf("%d bytes are free where a test writes", got)
	}
	if got := Free(t.TempDir() + "/nowhere"); got != 0 {
		t.Errorf("%d bytes are free in a folder that is not there", got)
	}
}
