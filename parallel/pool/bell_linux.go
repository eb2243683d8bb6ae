package pool

import (
	"os"

	"golang.org/x/sys/unix"
)

// eventFile returns an eventfd. A read waits in Go's poller.
func eventFile() (*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "eventfd"), nil
}
