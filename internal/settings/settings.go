// Package settings keeps what gemm tune measures on a host in a file, so that later runs of
// the programs use it.
//
// It is one JSON file a processor model, in the folder gemm of the user's folder for
// configuration (os.UserConfigDir). Whatever is wrong with the file, or if there is
// none, the settings that are computed from the caches serve: no product fails for it. The
// package prints nothing; a command that computes shows Load's error.
//
// The environment variable GEMM_TUNED=off has the file ignored.
package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gemm/internal/cpu"
	"gemm/internal/output"
	"gemm/internal/trust"
	"gemm/internal/tuned"
)

// Schema is the version of the file. Files of an older one are ignored like those
// of a newer one: measuring takes a minute.
const Schema = 1

// Variable is the environment variable that switches the settings off and on.
const Variable = "GEMM_TUNED"

// Load returns the settings of this host, read once: none if there is no file,
// no folder for it, or GEMM_TUNED is off. The error is one line that says what is
// wrong with the file and what helps; there are no settings then.
var Load = sync.OnceValues(func() (tuned.Settings, error) {
	on, err := enabled(os.Getenv(Variable))
	if !on || err != nil {
		return tuned.Settings{}, err
	}
	return Read()
})

// enabled reports whether the file counts, for a value of GEMM_TUNED.
func enabled(value string) (bool, error) {
	switch value {
	case "", "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, fmt.Errorf("%s=%q: must be on or off; no tuned settings are used", Variable, value)
}

// Read returns what the file of this host has now, whether it is in use or not;
// no settings if there is none. The error is Load's.
func Read() (tuned.Settings, error) {
	host := thisHost()
	path, err := pathOf(host)
	if err != nil {
		return tuned.Settings{}, nil // no folder for configuration has no file in it
	}
	s, err := read(path, host)
	if err != nil {
		return tuned.Settings{}, fmt.Errorf("%s is ignored: %w; gemm tune measures the settings anew", path, err)
	}
	return s, nil
}

// read returns the settings in the file at path, and none if there is no file. They must be of
// host, and no other user may be able to write the file. The file may be a link.
func read(path string, host tuned.Host) (tuned.Settings, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return tuned.Settings{}, nil
	}
	if err != nil {
		return tuned.Settings{}, cause(err)
	}
	if !info.Mode().IsRegular() {
		return tuned.Settings{}, errors.New("it is not a regular file")
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return tuned.Settings{}, cause(err)
	}
	if err := cmp.Or(trust.Folder(filepath.Dir(path)), trust.File(file)); err != nil {
		return tuned.Settings{}, cause(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return tuned.Settings{}, cause(err)
	}
	return parse(data, host)
}

// errCorrupt: the file is no JSON, or of other types. It does not say more: what package json
// says has the names of types of this package.
var errCorrupt = errors.New("it is cut off or corrupt")

// parse returns the settings in data, which must be of host.
func parse(data []byte, host tuned.Host) (tuned.Settings, error) {
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return tuned.Settings{}, errCorrupt
	}
	if head.Schema != Schema {
		return tuned.Settings{}, fmt.Errorf("its schema is %d, this program reads %d", head.Schema, Schema)
	}
	var s tuned.Settings
	if err := json.Unmarshal(data, &s); err != nil {
		return tuned.Settings{}, errCorrupt
	}
	if s.Host.CPU != host.CPU || !slices.Equal(s.Host.Caches, host.Caches) {
		return tuned.Settings{}, fmt.Errorf("it is of another host: %s, here it is %s", s.Host, host)
	}
	if err := s.Check(); err != nil {
		return tuned.Settings{}, err
	}
	return s, nil
}

// Save replaces the file of this host by s, whole or not at all, and returns its
// path. What Load has answered stays as it is.
func Save(s tuned.Settings) (string, error) {
	host := thisHost()
	s.Schema, s.Host = Schema, host
	if err := s.Check(); err != nil {
		return "", err
	}
	path, err := prepared(host)
	if err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return "", err
	}
	return path, advised(output.Write(path, append(data, '\n'), output.Permissions))
}

// Writable returns an error unless Save can be expected to succeed. It makes the
// folder if there is none.
func Writable() error {
	path, err := prepared(thisHost())
	if err != nil {
		return err
	}
	return advised(output.Writable(path))
}

// prepared returns the path of host's file, in a folder that is there, and where
// there is no other thing than a file.
func prepared(host tuned.Host) (string, error) {
	path, err := pathOf(host)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", unwritable(path, err)
	}
	if err := trust.Folder(filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("%s cannot be used: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", unwritable(path, errors.New("it is not a regular file"))
	}
	return path, nil
}

// Path returns where the settings of this host are kept, or an error if the
// user has no folder for configuration.
func Path() (string, error) { return pathOf(thisHost()) }

func pathOf(host tuned.Host) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for the settings: %w", err)
	}
	return filepath.Join(dir, "gemm", fileOf(host)), nil
}

// thisHost returns this host.
var thisHost = sync.OnceValue(func() tuned.Host {
	facts := cpu.Host()
	h := tuned.Host{CPU: facts.Model, Caches: []tuned.Cache{}}
	for _, c := range facts.Caches {
		h.Caches = append(h.Caches, tuned.Cache{Level: c.Level, Bytes: c.Bytes})
	}
	return h
})

// fileOf returns the name of a host's file: the model and the caches, in letters, digits
// and hyphens.
func fileOf(h tuned.Host) string {
	words := strings.FieldsFunc(strings.ToLower(h.CPU), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
	name := strings.Join(words, "-")
	return strings.ToLower(strings.Join(append([]string{name[:min(len(name), maxName)]}, h.Sizes()...), "-")) + ".json"
}

// maxName is the most that a file's name has of the model.
const maxName = 80

// unwritable says that the settings cannot be written, and what helps.
func unwritable(path string, err error) error {
	return advised(fmt.Errorf("%s cannot be written: %w", path, cause(err)))
}

// advised says what helps where the settings cannot be written. It is nil if err is.
func advised(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; make its folder writable", err)
}

// cause returns err without the name of the file that it is about.
func cause(err error) error {
	var fault *fs.PathError
	if errors.As(err, &fault) {
		return fault.Err
	}
	return err
}
