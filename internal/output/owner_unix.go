//go:build unix

package output

import (
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// Own gives the file to the owner of another one. Only root can give it to another user; otherwise it stays as it is.
func (p *Pending) Own(other fs.FileInfo) {
	if stat, ok := other.Sys().(*syscall.Stat_t); ok {
		_ = p.file.Chown(int(stat.Uid), int(stat.Gid))
	}
}

// root returns the user number of root as this process sees it. In a user namespace without root, the kernel shows
// files of root as files of another user, and so the files of all users outside of the namespace.
var root = sync.OnceValue(func() int {
	if info, err := os.Stat("/proc/sys"); err == nil {
		return owner(info)
	}
	return 0
})

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// otherOwner returns the user that a file belongs to, or "" if that is this user or root.
func otherOwner(info fs.FileInfo) string {
	if uid := owner(info); uid != os.Geteuid() && uid != 0 && uid != root() {
		return fmt.Sprintf("user %d", uid)
	}
	return ""
}

// access returns an error unless this user can write the folder.
func access(folder string) error { return syscall.Access(folder, 2) }

// writable reports whether others than the owner may write the file.
func writable(mode fs.FileMode) bool { return mode&0o022 != 0 }
