package cpu

import (
	"encoding/binary"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// root returns what macOS knows of this host, by the names of Linux.
func root(name string) ([]byte, error) { return macOS()(name) }

var macOS = sync.OnceValue(func() reader { return sysctlFiles(sysctl) })

// sysctl returns a variable of the system as text, numbers in decimal; empty if there is none.
func sysctl(name string) string {
	if !strings.HasPrefix(name, "hw.") {
		text, _ := unix.Sysctl(name)
		return text
	}
	switch raw, _ := unix.SysctlRaw(name); len(raw) {
	case 4:
		return strconv.Itoa(int(binary.NativeEndian.Uint32(raw)))
	case 8:
		return strconv.FormatUint(binary.NativeEndian.Uint64(raw), 10)
	}
	return ""
}
