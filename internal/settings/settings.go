// Package settings stores what gemm tune measures on a host in a file, so that later runs of the programs use it.
//
// There is one JSON file for each processor model, in the folder gemm of the user's configuration folder
// (os.UserConfigDir). If there is no file, or if the file has an error, settings are computed from the
// caches, and no product fails. The package prints nothing; commands print the error of Load.
//
// With the environment variable GEMM_TUNED=off the file is ignored.
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
	"gemm/internal/tuned"
)

// Schema is the version of the file. Files of other versions are ignored, older ones too: measuring takes only a
// minute.
const Schema = 1

// Variable is the environment variable that switches the settings off and on.
const Variable = "GEMM_TUNED"

// Load returns the settings of this host, which are read once. There are none if there is no file or no folder for it,
// if GEMM_TUNED is off, or if there is an error. The error is one line with the fault of the file and the remedy.
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

// Read returns the settings in the file of this host, even if they are disabled; none if there is no file. The
// error is the same as from Load.
func Read() (tuned.Settings, error) {
	host := thisHost()
	path, err := pathOf(host)
	if err != nil {
		return tuned.Settings{}, nil // without a configuration folder there is no file
	}
	s, err := read(path, host)
	if err != nil {
		var fault *fs.PathError
		if errors.As(err, &fault) {
			err = fault.Err // without the file name
		}
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
		return tuned.Settings{}, err
	}
	if !info.Mode().IsRegular() {
		return tuned.Settings{}, errors.New("it is not a regular file")
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return tuned.Settings{}, err
	}
	if err := cmp.Or(output.TrustFolder(filepath.Dir(path)), output.TrustFile(file)); err != nil {
		return tuned.Settings{}, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return tuned.Settings{}, err
	}
	return parse(data, host)
}

// errCorrupt is the error of a file that is not JSON, or has other types. The errors of package json are not shown,
// since they contain names of Go types.
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
	if err := check(s); err != nil {
		return tuned.Settings{}, err
	}
	return s, nil
}

// Save replaces the file of this host with s, completely or not at all, and returns its path. The result of Load
// does not change.
func Save(s tuned.Settings) (string, error) {
	host := thisHost()
	s.Schema, s.Host = Schema, host
	if err := check(s); err != nil {
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
	return path, advised(output.Write(path, append(data, '\n'), output.Permissions, false))
}

// Writable returns an error if Save could not succeed. It creates the folder if there is none.
func Writable() error {
	path, err := prepared(thisHost())
	if err != nil {
		return err
	}
	return advised(output.Writable(path, false))
}

// prepared returns the path of host's file. It creates the folder, and checks that an existing file is a regular file.
func prepared(host tuned.Host) (string, error) {
	path, err := pathOf(host)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", advised(output.Unwritable(path, err))
	}
	if err := output.TrustFolder(filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("%s cannot be used: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", advised(output.Unwritable(path, errors.New("it is not a regular file")))
	}
	return path, nil
}

// Path returns the file of this host's settings, or an error if the user has no configuration folder.
func Path() (string, error) { return pathOf(thisHost()) }

func pathOf(host tuned.Host) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for the settings: %w; set XDG_CONFIG_HOME", err)
	}
	return filepath.Join(dir, "gemm", fileOf(host)), nil
}

var thisHost = sync.OnceValue(func() tuned.Host {
	facts := cpu.Host()
	h := tuned.Host{CPU: facts.Model, Caches: []tuned.Cache{}}
	for _, c := range facts.Caches {
		h.Caches = append(h.Caches, tuned.Cache{Level: c.Level, Bytes: c.Bytes})
	}
	return h
})

// fileOf returns the name of a host's file: the model and the caches, in letters, digits and hyphens.
func fileOf(h tuned.Host) string {
	words := strings.FieldsFunc(strings.ToLower(h.CPU), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
	name := strings.Join(words, "-")
	return strings.ToLower(strings.Join(append([]string{name[:min(len(name), maxName)]}, h.Sizes()...), "-")) + ".json"
}

// maxName is the largest length of the model in a file name.
const maxName = 80

// advised adds the remedy to an error of writing the settings. It returns nil for nil.
func advised(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; make its folder writable, or set XDG_CONFIG_HOME", err)
}
