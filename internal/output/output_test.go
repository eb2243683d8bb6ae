package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file for a test.
func put(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte(text), 0o600))
}

// has fails the test unless the file called name has the text and the permissions.
func has(t *testing.T, name, text string, perm fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil || string(got) != text {
		t.Errorf("%s has %q, %v; want %q", name, got, err, text)
	}
	if info, err := os.Stat(name); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != perm) {
		t.Errorf("%s has permissions %v, %v; want %v", name, info.Mode(), err, perm)
	}
}

// entries returns the names of what is in the folder.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

// The digits of temporary names in these tests.
const sixteen = "0123456789abcdef"

// TestSweepRemovesOnlyItsOwn has files of users, whose names begin as temporary names do, next
// to files that killed processes have left.
func TestSweepRemovesOnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	kept := []string{
		".b", ".bashrc", ".bash_history", ".b.bak", ".b.gemm-", ".b.gemm-lock", ".b.gemm-rs-0123abcd",
		".b1234567890123456789",                   // of another library
		".b.gemm-0123456789abcde",                 // a digit too few
		".b.gemm-0123456789abcdef0",               // too many
		".b.gemm-0123456789ABCDEF",                // capitals
		"b.gemm-" + sixteen,                       // no dot
		".ba.gemm-" + sixteen,                     // of another file
		".B.gemm-" + sixteen,                      // and another
		".b.gemm-" + sixteen + ".gemm-" + sixteen, // of one with such a name
		".[.gemm-" + sixteen,
	}
	for _, name := range kept {
		put(t, filepath.Join(dir, name), "")
	}
	own := []string{".b.gemm-" + sixteen, ".b.gemm-ffffffffffffffff", ".sw*.gemm-" + sixteen}
	for _, name := range own {
		put(t, filepath.Join(dir, name), "")
	}
	put(t, filepath.Join(dir, "sweep"), "")
	kept = append(kept, "sweep")

	for _, name := range []string{"b", "sw*", "?", "missing/b"} {
		Sweep(filepath.Join(dir, name))
	}
	slices.Sort(kept)
	if got := entries(t, dir); !slices.Equal(got, kept) {
		t.Errorf("left are %q, want %q", got, kept)
	}
}

// TestSweepLeavesOtherThings has a folder, a link and a file of the future under temporary names.
func TestSweepLeavesOtherThings(t *testing.T) {
	dir := t.TempDir()
	name := func(digit string) string { return filepath.Join(dir, ".b.gemm-"+strings.Repeat(digit, 16)) }
	must(t, os.Mkdir(name("1"), 0o700))
	put(t, filepath.Join(dir, "file"), "a user's")
	if err := os.Symlink("file", name("2")); err != nil {
		t.Skip(err)
	}
	put(t, name("3"), "")
	later := time.Now().Add(time.Hour)
	must(t, os.Chtimes(name("3"), later, later))
	before := entries(t, dir)
	Sweep(filepath.Join(dir, "b"))
	if after := entries(t, dir); !slices.Equal(after, before) {
		t.Errorf("left are %q of %q", after, before)
	}
}

// TestWriteKeepsPermissions replaces files that are more and less private than new ones.
func TestWriteKeepsPermissions(t *testing.T) {
	for _, perm := range []fs.FileMode{0o600, 0o640, 0o666, 0o444} {
		name := filepath.Join(t.TempDir(), "file")
		put(t, name, "old")
		must(t, os.Chmod(name, perm))
		must(t, Write(name, []byte("new"), Permissions, true))
		has(t, name, "new", perm)
	}
}

// TestWriteFollowsLinks writes through links: of a file, of a link in another folder, of a
// folder, and of a file that is not there yet.
func TestWriteFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	must(t, os.MkdirAll(at("data/deep"), 0o700))
	put(t, at("data/file"), "old")
	for link, target := range map[string]string{
		"one": "data/file", "data/deep/two": "../../one", "three": at("data/deep/two"),
		"folder": "data/deep", "data/up": "../folder/../new", "dangling": "data/missing",
	} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Skip(err)
		}
	}
	for link, target := range map[string]string{
		"one": "data/file", "data/deep/two": "data/file", "three": "data/file", "folder/file": "data/deep/file",
		"data/up": "data/new", "dangling": "data/missing",
	} {
		if err := Write(at(link), []byte(link), Permissions, false); err != nil {
			t.Errorf("%s: %v", link, err)
			continue
		}
		if got, err := os.ReadFile(at(target)); err != nil || string(got) != link {
			t.Errorf("%s: its target %s has %q, %v", link, target, got, err)
		}
		if info, err := os.Lstat(at(link)); err != nil || link != "folder/file" && info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v, %v", link, info, err)
		}
	}
	if info, err := os.Stat(at("data/file")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file that a link names has permissions %v, %v", info.Mode(), err)
	}
}

// TestWriteRefuses what is there and is not a regular file, and folders that are not there.
func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	_ = os.Symlink("loop", filepath.Join(dir, "loop"))
	_ = os.Symlink("missing/file", filepath.Join(dir, "nowhere"))
	for name, want := range map[string]string{
		dir:                            "not a regular file",
		os.DevNull:                     "not a regular file",
		filepath.Join(dir, "loop"):     "symbolic links",
		filepath.Join(dir, "nowhere"):  "nowhere: cannot be written",
		filepath.Join(dir, "no", "no"): "no: cannot be written",
	} {
		for what, err := range map[string]error{"Write": Write(name, nil, Permissions, false),
			"Writable": Writable(name, false)} {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), mark) {
				t.Errorf("%s of %s: %v, want an error with %q", what, name, err, want)
			}
		}
	}
	if left := entries(t, dir); len(left) != 2 {
		t.Errorf("left are %v", left)
	}
}

// TestLock takes a lock twice, gives it up and takes it again.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for range 2 {
		lock, err := NewLock(name)
		must(t, err)
		if _, err := NewLock(filepath.Join(dir, "link")); !errors.Is(err, ErrInUse) {
			t.Errorf("the lock is taken twice: %v", err)
		}
		other, err := NewLock(filepath.Join(dir, "other"))
		if err != nil {
			t.Errorf("another file is locked too: %v", err)
		}
		other.Release()
		lock.Release()
		lock.Release()
	}
	if left := entries(t, dir); !slices.Equal(left, []string{"link"}) {
		t.Errorf("left are %v", left)
	}
	put(t, filepath.Join(dir, ".file.gemm-lock"), "a user's")
	if _, err := NewLock(name); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a user's file is taken for a lock: %v", err)
	}
	has(t, filepath.Join(dir, ".file.gemm-lock"), "a user's", 0o600)
}
