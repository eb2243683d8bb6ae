package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

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

// checkWritable returns an error unless writeFile can be expected to write name.
func checkWritable(name string) error {
	if err := checkRegular(name); err != nil {
		return err
	}
	probe, err := os.CreateTemp(filepath.Dir(name), ".probe-*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
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
