package main

import (
	"fmt"
	"os"

	"github.com/google/renameio/v2/maybe"
)

// checkRegular returns an error where name is there and is no regular file, which
// must not be replaced by one: a device, for example.
func checkRegular(name string) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file; name another, or %s for standard output", name, stdoutName)
	}
	return nil
}

// writeFile replaces the file called name, whole or not at all.
func writeFile(name string, data []byte) error {
	if err := checkRegular(name); err != nil {
		return err
	}
	if err := maybe.WriteFile(name, data, 0o644); err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	return nil
}
