package dl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gemm/gemmtest"
)

// TestExpand replaces patterns: in a folder and in a name, the newest version comes first.
func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/libx.so.2", "a/libx.so.10", "a/libx.so.3", "a/liby.so.4", "b/libx.so.5"} {
		file := filepath.Join(dir, name)
		gemmtest.Must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644)))
	}
	got := expand([]string{"libx.so", dir + "/*/libx.so.*", "libx.so.[0-9]", "/nowhere/*/libx.so"})
	want := []string{"libx.so", dir + "/a/libx.so.10", dir + "/a/libx.so.3", dir + "/a/libx.so.2", dir + "/b/libx.so.5"}
	for version := 9; version >= 0; version-- {
		want = append(want, fmt.Sprintf("libx.so.%d", version))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
