//go:build unix

package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mode gives a file or folder a mode that the process's umask does not change.
func mode(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	must(t, os.Chmod(path, mode))
}

// chown changes the owner of a file or folder to another user, or skips the test.
func chown(t *testing.T, path string) {
	t.Helper()
	if err := os.Lchown(path, 4711, -1); err != nil {
		t.Skipf("only root can give files away: %v", err)
	}
}

// open makes a folder that others can enter, so that modes below it count.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "trust-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	mode(t, dir, 0o755)
	return dir
}

func TestTrustFile(t *testing.T) {
	for name, test := range map[string]struct {
		// change changes the file top/cache/gemm/program, which is trusted as it is.
		change func(t *testing.T, top string)
		want   string // part of the error; empty: none
	}{
		"as it is": {func(*testing.T, string) {}, ""},
		"group writes file": {func(t *testing.T, top string) { mode(t, top+"/cache/gemm/program", 0o775) },
			"gemm/program (mode -rwxrwxr-x): remove it"},
		"all write file": {func(t *testing.T, top string) { mode(t, top+"/cache/gemm/program", 0o757) },
			"gemm/program (mode -rwxr-xrwx): remove it"},
		"file of another": {func(t *testing.T, top string) { chown(t, top+"/cache/gemm/program") },
			"gemm/program belongs to user 4711"},
		"all write folder": {func(t *testing.T, top string) { mode(t, top+"/cache/gemm", 0o777) },
			"/cache/gemm (mode drwxrwxrwx): look at what is in it, then chmod go-w "},
		"group writes folder": {func(t *testing.T, top string) { mode(t, top+"/cache/gemm", 0o775) },
			"/cache/gemm (mode drwxrwxr-x)"},
		"folder of another": {func(t *testing.T, top string) { chown(t, top+"/cache/gemm") },
			"/cache/gemm belongs to user 4711"},
		"all write above": {func(t *testing.T, top string) { mode(t, top+"/cache", 0o777) },
			"/cache (mode drwxrwxrwx)"},
		"above of another": {func(t *testing.T, top string) { chown(t, top+"/cache") }, "/cache belongs to user 4711"},
		"sticky above":     {func(t *testing.T, top string) { mode(t, top+"/cache", 0o777|fs.ModeSticky) }, ""},
		"sticky folder":    {func(t *testing.T, top string) { mode(t, top+"/cache/gemm", 0o777|fs.ModeSticky) }, ""},
		"closed above":     {func(t *testing.T, top string) { mode(t, top, 0o700); mode(t, top+"/cache", 0o777) }, ""},
		"closed, folder written": {func(t *testing.T, top string) { mode(t, top, 0o700); mode(t, top+"/cache/gemm", 0o777) },
			"/cache/gemm (mode drwxrwxrwx)"},
		"link to a file": {func(t *testing.T, top string) {
			rename(t, top+"/cache/gemm/program", top+"/cache/gemm/other")
		}, "gemm/program is not a regular file"},
		"link to an open folder": {func(t *testing.T, top string) {
			must(t, os.Mkdir(top+"/shared", 0o755))
			mode(t, top+"/shared", 0o777)
			rename(t, top+"/cache/gemm", top+"/shared/gemm")
		}, "/shared (mode drwxrwxrwx)"},
		"link in an open folder": {func(t *testing.T, top string) {
			rename(t, top+"/cache/gemm", top+"/gemm")
			mode(t, top+"/cache", 0o777)
		}, "/cache (mode drwxrwxrwx)"},
		"not there": {func(t *testing.T, top string) {
			must(t, os.Remove(top+"/cache/gemm/program"))
		}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			top := open(t)
			file := filepath.Join(top, "cache", "gemm", "program")
			must(t, os.MkdirAll(filepath.Dir(file), 0o755))
			must(t, os.WriteFile(file, nil, 0o755))
			for _, made := range []string{filepath.Join(top, "cache"), filepath.Dir(file), file} {
				mode(t, made, 0o755)
			}
			test.change(t, top)
			err := TrustFile(file)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("the error is %v, want one with %q", err, test.want)
			case test.want != "" && errors.Is(err, ErrUntrusted) == errors.Is(err, fs.ErrNotExist):
				t.Errorf("%v is of both kinds or of none", err)
			}
		})
	}
}

// rename moves a file or folder and leaves a link to it.
func rename(t *testing.T, from, to string) {
	t.Helper()
	must(t, errors.Join(os.Rename(from, to), os.Symlink(to, from)))
}

// TestCacheFolder finds the folder for compiled programs: the user's or, if it cannot be made, one in the folder for
// temporary files that is this user's alone.
func TestCacheFolder(t *testing.T) {
	home, temporary := open(t), open(t)
	mode(t, temporary, 0o777|fs.ModeSticky)
	t.Setenv("TMPDIR", temporary)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("HOME", home)
	if got, err := CacheFolder(); got != filepath.Join(home, "cache", "gemm") || err != nil {
		t.Errorf("with a home: %s, %v", got, err)
	}
	mode(t, filepath.Join(home, "cache"), 0o777)
	if _, err := CacheFolder(); !errors.Is(err, ErrUntrusted) {
		t.Errorf("in a folder that all can write: %v", err)
	}
	fallback := filepath.Join(temporary, fmt.Sprint("gemm-", os.Getuid()))
	for _, cache := range []string{"/proc/nothing", "relative", ""} {
		t.Setenv("XDG_CACHE_HOME", cache)
		if cache == "" {
			t.Setenv("HOME", "")
		}
		got, err := CacheFolder()
		info, missing := os.Stat(fallback)
		if got != fallback || err != nil || missing != nil || info.Mode() != fs.ModeDir|0o700 {
			t.Errorf("with the cache %q: %s, %v; %v, %v", cache, got, err, info, missing)
		}
	}
	const remedy = ": set XDG_CACHE_HOME to a folder of yours"
	mode(t, fallback, 0o777)
	if _, err := CacheFolder(); !errors.Is(err, ErrUntrusted) || !strings.HasSuffix(err.Error(), remedy) {
		t.Errorf("with a folder that all can write: %v", err)
	}
	must(t, os.Remove(fallback))
	must(t, os.Symlink(home, fallback))
	chown(t, fallback)
	if _, err := CacheFolder(); !errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), "the link "+fallback) {
		t.Errorf("with a link of another user: %v", err)
	}
	t.Setenv("TMPDIR", "/proc/nothing")
	if _, err := CacheFolder(); err == nil || !strings.HasSuffix(err.Error(), remedy) ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("without any folder: %v", err)
	}
}

// TestTrustFolder checks a folder that is named relative to the working folder.
func TestTrustFolder(t *testing.T) {
	t.Chdir(open(t))
	must(t, os.Mkdir("gemm", 0o755))
	mode(t, "gemm", 0o755)
	if err := TrustFolder("gemm"); err != nil {
		t.Error(err)
	}
	mode(t, ".", 0o777)
	if err := TrustFolder("gemm"); !errors.Is(err, ErrUntrusted) {
		t.Errorf("below a folder that all can write: %v", err)
	}
	if err := TrustFolder("nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
