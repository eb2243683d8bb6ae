package output_test

import (
	"os"
	"path/filepath"
	"testing"

	"gemm/gemmtest"
	"gemm/internal/output"
)

// TestWriteProtected replaces a file that this user may not write, in a folder that all may write: only with force.
func TestWriteProtected(t *testing.T) {
	dir := gemmtest.OpenFolder(t)
	name, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	gemmtest.Must(t, os.WriteFile(name, []byte("old"), 0o444))
	gemmtest.Must(t, os.Symlink("file", link))
	has := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("the file has %q, %v", got, err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
			t.Errorf("left are %q, %v", left, err)
		}
	}
	gemmtest.Unprivileged(t, func() {
		for _, to := range []string{name, link} {
			for _, err := range []error{output.Writable(to, false), output.Write(to, []byte("new"), output.Permissions, false)} {
				want := to + ": cannot be written: the file is write-protected: chmod u+w permits it, or name another"
				if err == nil || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
			}
		}
		has("old")
		if err := output.Writable(name, true); err != nil {
			t.Error(err)
		}
		if err := output.Write(name, []byte("new"), output.Permissions, true); err != nil {
			t.Error(err)
		}
		has("new")
		if info, err := os.Stat(name); err != nil {
			t.Error(err)
		} else if info.Mode() != 0o444 {
			t.Errorf("the permissions are %v", info.Mode())
		}
	})
}
