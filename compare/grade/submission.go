package grade

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gemm/internal/output"
	"gemm/user"
)

// submission is a folder that was handed in.
type submission struct {
	name   string // of the folder
	folder string
	digest string // of the files and of the assignment
	copied string // the folder in which it is compiled, a copy
	fault  error  // why it cannot be
}

// mostBytes and mostFiles limit a submission.
const (
	mostBytes = 64 << 20
	mostFiles = 1000
)

// library is the language of a shared library.
const library = "machine code"

// language returns what a kernel is written in; empty: the file is none.
func language(path string) string {
	switch k := (user.Kernel{Path: path}); {
	case k.CUDA():
		return "CUDA"
	case filepath.Ext(path) == ".so":
		return library
	default:
		return k.Language()
	}
}

// find returns the submissions in a folder: its folders, or the folder itself if it holds a kernel. Then it is the
// student's own, and local.
func find(in string) (all []submission, local bool, err error) {
	entries, err := os.ReadDir(in)
	if err != nil {
		return nil, false, err
	}
	for _, entry := range entries {
		path := filepath.Join(in, entry.Name())
		info, err := os.Stat(path)
		switch {
		case strings.HasPrefix(entry.Name(), ".") || err != nil:
		case info.IsDir():
			all = append(all, submission{name: entry.Name(), folder: path})
		case language(path) != "":
			whole, err := filepath.Abs(in)
			return []submission{{name: filepath.Base(whole), folder: in}}, true, err
		}
	}
	if len(all) == 0 {
		return nil, false, fmt.Errorf("%s: there is no submission: each one is a folder in it", in)
	}
	return all, false, nil
}

// copyTo copies the regular files of the submission to a folder and sets its digest. A link is followed within the
// submission and is an error otherwise.
func (s *submission) copyTo(to string, a Assignment) error {
	root, err := os.OpenRoot(s.folder)
	if err != nil {
		return err
	}
	defer root.Close()
	sum, bytes, files := sha256.New(), 0, 0
	fmt.Fprintln(sum, a.digest)
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if strings.HasPrefix(path, ".") && path != "." {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, path), 0o755)
		}
		info, err := root.Stat(path)
		switch {
		case err != nil && entry.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link to what is not in the folder: hand in the file itself", output.Line(path))
		case err != nil:
			return err
		case info.IsDir():
			return fmt.Errorf("%s is a link to a folder: hand in the files themselves", output.Line(path))
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file", output.Line(path))
		}
		bytes += int(info.Size())
		if files++; files > mostFiles || bytes > mostBytes {
			return fmt.Errorf("it has more than %d files or %d MiB: hand in the sources alone", mostFiles,
				mostBytes>>20)
		}
		text, err := root.ReadFile(path)
		fmt.Fprintf(sum, "%q %d\n%s", path, len(text), text)
		return errors.Join(err, os.WriteFile(filepath.Join(to, path), text, 0o644))
	})
	s.digest = fmt.Sprintf("%x", sum.Sum(nil))
	s.copied = to
	return err
}

// kernel returns the kernel in the copied folder: its sources in one language, or a library.
func (s *submission) kernel(a Assignment) (user.Kernel, error) {
	k := user.Kernel{Name: s.name, Named: true, ABI: a.Kernel.ABI, Type: a.Kernel.Type, Symbol: a.Kernel.Function}
	var found []string
	err := filepath.WalkDir(s.copied, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && language(path) != "" {
			found = append(found, path)
		}
		return err
	})
	sources := slices.DeleteFunc(slices.Clone(found), func(path string) bool { return language(path) == library })
	if len(sources) > 0 { // a library next to them is what they were compiled to
		found = sources
	}
	switch {
	case err != nil:
		return k, err
	case len(found) == 0:
		return k, errors.New("there is no source and no library in the folder")
	}
	k.Path, k.More = found[0], found[1:]
	for _, path := range k.More {
		if l := language(path); l != language(k.Path) || l == library || k.CUDA() {
			return k, fmt.Errorf("%s and %s are not one kernel in C, C++ or Fortran: hand in one file, or one language",
				filepath.Base(k.Path), filepath.Base(path))
		}
	}
	if (language(k.Path) == "CUDA") != (a.Kernel.ABI == user.CUDA) {
		return k, fmt.Errorf("%s is %s, which is not the language of the assignment: its ABI is %s",
			filepath.Base(k.Path), language(k.Path), a.Kernel.ABI)
	}
	return k, nil
}
