package trust

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Cache returns the folder for programs that are compiled once and executed or loaded later: gemm in the user's folder
// for caches or, if that cannot be written, gemm-USER in the folder for temporary files. It is made if it is missing.
func Cache() (string, error) {
	folder, err := os.UserCacheDir()
	if err == nil {
		folder = filepath.Join(folder, "gemm")
		if err = Make(folder); err == nil || errors.Is(err, ErrUntrusted) {
			return folder, err
		}
	}
	folder = filepath.Join(os.TempDir(), fmt.Sprint("gemm-", os.Getuid()))
	if other := Make(folder); other != nil {
		return "", fmt.Errorf("no folder for compiled programs: %w, and %w: set XDG_CACHE_HOME to a folder of yours", err,
			other)
	}
	return folder, nil
}

// Make makes the folder unless it is there. The error says why this user cannot write it or must not trust it.
func Make(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := Folder(folder); err != nil {
		return err
	}
	if err := access(folder); err != nil {
		return &os.PathError{Op: "write", Path: folder, Err: err}
	}
	return nil
}
