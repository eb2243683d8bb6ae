//go:build !unix

package output

import "io/fs"

// Own does nothing: there are no owners as on Unix.
func (p *Pending) Own(fs.FileInfo) {}

func otherOwner(fs.FileInfo) string { return "" }

func access(string) error { return nil }

func writable(fs.FileMode) bool { return false }
