//go:build unix

package output

import (
	"io/fs"
	"syscall"
)

// Own gives the file to the owner of another one. Only root can give it to another user; otherwise it stays as it is.
func (p *Pending) Own(other fs.FileInfo) {
	if stat, ok := other.Sys().(*syscall.Stat_t); ok {
		_ = p.file.Chown(int(stat.Uid), int(stat.Gid))
	}
}
