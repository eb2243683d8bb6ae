//go:build !unix

package trust

import "io/fs"

func stranger(fs.FileInfo) string { return "" }

func writable(fs.FileMode) bool { return false }
