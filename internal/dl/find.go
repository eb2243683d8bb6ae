package dl

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"gemm"
)

// Search says which library is wanted.
type Search struct {
	Title    string   // in prose
	Variable string   // environment variable with a path or name to open instead of the Names
	Names    []string // that are tried in order: see Find
	Pip      []string // patterns for files below a folder into which pip installs; nil: pip has none
	Remedy   string   // what to install
}

// Find calls open with the names of the library until a call succeeds. The error is an
// ErrUnavailable of one line, with the names that were tried and the remedy.
//
// A name with a slash is a pattern for files. Other names go to the system's loader, which searches the library folders
// of this system; AnyVersion in a name stands for every version. The newest version comes first. A match that is not a
// regular file is an error: the loader would open it, and opening a pipe blocks, signals or not.
//
// Packages of pip come before the system's libraries if they are in the folder of make peers or in the Python
// environment in use (VIRTUAL_ENV, CONDA_PREFIX). Other packages of the python3 on PATH come last.
func Find[L any](s Search, open func(name string) (L, error)) (L, error) {
	try := func(name string) (l L, err error) {
		if err := regular(name); err != nil {
			return l, err
		}
		return open(name)
	}
	if name := os.Getenv(s.Variable); name != "" {
		l, err := try(name)
		if err != nil {
			err = gemm.Unavailablef("%s=%s: %v; set %s to the path of one %s, or unset it", s.Variable, name, firstLine(err),
				s.Variable, s.Title)
		}
		return l, err
	}
	var broken string
	for name := range candidates(s) {
		l, err := try(name)
		if err == nil {
			return l, nil
		}
		if !Absent(name, err) {
			broken = " (" + firstLine(err).Error() + ")"
		}
	}
	var none L
	if len(s.Names) == 0 {
		return none, gemm.Unavailablef("no %s on %s: %s", s.Title, runtime.GOOS, s.Remedy)
	}
	return none, gemm.Unavailablef("no %s among %s%s; %s, or set %s to the path of one", s.Title,
		strings.Join(s.Names, ", "), broken, s.Remedy, s.Variable)
}

// regular returns an error if name is the path of something that is there and is no regular file.
func regular(name string) error {
	if !strings.Contains(name, "/") {
		return nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: it is not a regular file", name)
	}
	return nil
}

// Absent reports whether a library could not be opened because it is not there. The loader of Linux names the file that
// is missing: if that is not the library, the library is there and depends on it.
func Absent(name string, err error) bool {
	return runtime.GOOS == "linux" && strings.HasPrefix(err.Error(), name+": cannot open")
}

// AnyVersion stands for the version in the name of a library.
const AnyVersion = "[0-9]"

// expand replaces patterns.
func expand(names []string) []string {
	var out []string
	for _, name := range names {
		switch {
		case strings.Contains(name, "/"):
			files, _ := filepath.Glob(name)                  // what is no pattern has no files
			if strings.HasPrefix(name, "/System/Library/") { // the loader of macOS has these in no file
				files = []string{name}
			}
			slices.SortFunc(files, newestFirst)
			out = append(out, files...)
		case strings.Contains(name, AnyVersion):
			for version := 9; version >= 0; version-- {
				out = append(out, strings.Replace(name, AnyVersion, strconv.Itoa(version), 1))
			}
		default:
			out = append(out, name)
		}
	}
	return out
}

// newestFirst compares paths. Numbers, which are versions, are sorted from the largest, the rest
// from a to z. If one path begins with the other, the longer one is first.
func newestFirst(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x == 0 || y == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		if by := cmp.Or(cmp.Compare(y, x), cmp.Compare(b[:y], a[:x])); by != 0 {
			return by
		}
		a, b = a[x:], b[y:]
	}
	return cmp.Compare(len(b), len(a))
}

// digits returns how many digits s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// firstLine returns an error of the first line of err's text, nil of nil.
func firstLine(err error) error {
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(text)
}
