package shard

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm/gemmtest"
)

// TestProtectWithoutPermission: a file that must not be replaced is left as it is, and the error says what to do.
func TestProtectWithoutPermission(t *testing.T) {
	c := newCoder(t)
	data := random(2000, 1)
	p := protected(t, c, data, 4, 2)
	data[7]++
	rewrite(t, p, data)
	dir := filepath.Dir(p.File)
	for _, folder := range []string{filepath.Dir(dir), dir, p.Dir} {
		gemmtest.Must(t, os.Chmod(folder, 0o555))
		defer os.Chmod(folder, 0o755)
	}
	gemmtest.Unprivileged(t, func() {
		_, err := c.Repair(t.Context(), p)
		if err == nil || !strings.Contains(err.Error(), "permission denied: repair it as a user who may write in "+
			filepath.Dir(p.File)) {
			t.Errorf("got %v", err)
		}
	})
	if !bytes.Equal(read(t, p.File), data) {
		t.Error("the file was changed")
	}
}
