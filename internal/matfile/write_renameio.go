//go:build !windows

package matfile

import "github.com/google/renameio/v2"

// newPending returns a temporary file that replaces name when it is closed.
func newPending(name string) (*renameio.PendingFile, error) {
	return renameio.NewPendingFile(name, renameio.WithTempDir(folder(name)), renameio.WithPermissions(permissions))
}
