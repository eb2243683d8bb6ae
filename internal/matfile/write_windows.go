package matfile

import (
	"errors"
	"os"
)

// pending stands in for renameio's PendingFile, which Windows lacks: there a
// rename over a file need not be atomic.
type pending struct {
	*os.File
	name string
	done bool
}

// newPending returns a temporary file that replaces name when it is closed.
func newPending(name string) (*pending, error) {
	file, err := os.CreateTemp(folder(name), ".matfile")
	if err != nil {
		return nil, err
	}
	return &pending{File: file, name: name}, nil
}

// Cleanup removes the temporary file unless it has replaced the other.
func (p *pending) Cleanup() error {
	if p.done {
		return nil
	}
	p.Close() // an error only says that it is closed
	return os.Remove(p.Name())
}

// CloseAtomicallyReplace closes the temporary file and renames it.
func (p *pending) CloseAtomicallyReplace() error {
	if err := errors.Join(p.Sync(), p.Close()); err != nil {
		return err
	}
	if err := os.Rename(p.Name(), p.name); err != nil {
		return err
	}
	p.done = true
	return nil
}
