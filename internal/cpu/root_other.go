//go:build !darwin

package cpu

import "os"

// root reads the files of this host.
func root(name string) ([]byte, error) { return os.ReadFile("/" + name) }
