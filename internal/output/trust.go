package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrUntrusted: another user can have written a file, or can replace it.
var ErrUntrusted = errors.New("not trusted")

// TrustFile returns an error unless the file may be trusted, that is executed or loaded: no other user can have written
// it. A file may be trusted if it and every folder above it belong to this user or to root, and no other user has the
// permission to write them. A folder above may be writable by others in two cases: with the sticky bit, as on /tmp,
// others cannot replace files in it, and below a folder that is closed to others they do not reach it. On systems
// without owners and modes every file passes.
//
// The error is an ErrUntrusted that names the file or folder and the
// remedy, or an error of the system, such as fs.ErrNotExist. A symbolic link is not a file.
func TrustFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a regular file: remove it", ErrUntrusted, path)
	}
	if who := otherOwner(info); who != "" {
		return fmt.Errorf("%w: %s belongs to %s, not to this user: remove it", ErrUntrusted, path, who)
	}
	if mode := info.Mode(); writable(mode) {
		return fmt.Errorf("%w: other users can write %s (mode %v): remove it", ErrUntrusted, path, mode)
	}
	return TrustFolder(filepath.Dir(path))
}

// TrustFolder returns an error unless files of this user in the folder may be trusted. The errors are the same as for
// TrustFile.
func TrustFolder(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if err := folders(path); err != nil || resolved == path {
		return err
	}
	return folders(resolved)
}

// folders checks the folder of an absolute path and its parents, from the root down.
func folders(path string) error {
	closed := false // a folder above is closed to others
	for _, folder := range above(path) {
		link, err := os.Lstat(folder) // another user can turn a link of theirs, also in a folder with the sticky bit
		if err != nil {
			return err
		}
		if who := otherOwner(link); who != "" && link.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%w: the link %s belongs to %s, not to this user: choose another folder", ErrUntrusted, folder,
				who)
		}
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		mode := info.Mode()
		if !info.IsDir() {
			return fmt.Errorf("%w: %s is not a folder: remove it", ErrUntrusted, folder)
		}
		if who := otherOwner(info); who != "" {
			return fmt.Errorf("%w: the folder %s belongs to %s, not to this user: choose another folder",
				ErrUntrusted, folder, who)
		}
		if writable(mode) && mode&fs.ModeSticky == 0 && (!closed || folder == path) {
			return fmt.Errorf("%w: other users can write the folder %s (mode %v): look at what is in it, then chmod go-w %[2]s",
				ErrUntrusted, folder, mode)
		}
		closed = closed || mode&0o011 == 0
	}
	return nil
}

// above returns the path and the folders above it, the root first.
func above(path string) []string {
	if parent := filepath.Dir(path); parent != path {
		return append(above(parent), path)
	}
	return []string{path}
}

// CacheFolder returns the folder for programs that are compiled once and executed or loaded later: gemm in the user's
// folder for caches or, if that cannot be written, gemm-USER in the folder for temporary files. It is made if it is
// missing.
func CacheFolder() (string, error) {
	folder, err := os.UserCacheDir()
	if err == nil {
		folder = filepath.Join(folder, "gemm")
		if err = MakeFolder(folder); err == nil || errors.Is(err, ErrUntrusted) {
			return folder, err
		}
	}
	folder = filepath.Join(os.TempDir(), fmt.Sprint("gemm-", os.Getuid()))
	if other := MakeFolder(folder); other != nil {
		return "", fmt.Errorf("no folder for compiled programs: %w, and %w: set XDG_CACHE_HOME to a folder of yours", err,
			other)
	}
	return folder, nil
}

// MakeFolder makes the folder unless it is there. The error says why this user cannot write it or must not trust it.
func MakeFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := TrustFolder(folder); err != nil {
		return err
	}
	if err := access(folder); err != nil {
		return &os.PathError{Op: "write", Path: folder, Err: err}
	}
	return nil
}
