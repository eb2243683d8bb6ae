package main

import (
	"fmt"
	"os"

	"gemm/internal/output"
)

// checkRegular returns an error if name is there and is not a regular file, which
// must not be replaced by one: a device, for example.
func checkRegular(name string) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; name another, or %s for standard output", name, stdoutName)
	}
	return nil
}

// checkWritable returns an error unless writeFile can be expected to write name.
func checkWritable(name string) error {
	if err := checkRegular(name); err != nil {
		return err
	}
	return output.Writable(name)
}

// writeFile replaces the file called name, whole or not at all.
func writeFile(name string, data []byte) error {
	if err := checkRegular(name); err != nil {
		return err
	}
	return output.Write(name, data, output.Permissions)
}
