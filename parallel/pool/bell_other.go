//go:build !linux

package pool

import (
	"errors"
	"os"
)

// eventFile returns an error: there is no eventfd here.
func eventFile() (*os.File, error) { return nil, errors.ErrUnsupported }
