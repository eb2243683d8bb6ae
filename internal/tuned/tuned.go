// Package tuned keeps the settings that gemm tune measures on a host, so that
// every later product on it uses them: block sizes, the sizes from which another
// way to compute pays, and the tiles of kernels on its GPUs.
//
// They are one JSON file a processor model, in the folder gemm of the user's
// folder for configuration (os.UserConfigDir). Whatever is wrong with the file, or
// where there is none, the settings that are computed from the caches serve: no
// product fails for it. The package prints nothing; a command that computes calls
// Load and shows its error.
//
// The environment variable GEMM_TUNED=off has the file ignored. Tests ignore it
// unless GEMM_TUNED=on, benchmarks that are run by go test among them: what a test
// finds must not depend on what has been measured on the machine that it runs on.
package tuned

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
	"sync/atomic"
	"testing"
	"time"

	"gemm/internal/cpu"
	"gemm/internal/output"
	"gemm/internal/trust"
)

// Schema is the version of the file. Files of an older one are ignored like those
// of a newer one: measuring takes a minute.
const Schema = 1

// Variable is the environment variable that switches the settings off and on.
const Variable = "GEMM_TUNED"

// Settings is what has been measured on one host: the content of the file.
type Settings struct {
	Schema int    `json:"schema"`
	Host   Host   `json:"host"`
	Tuned  []Tune `json:"tuned"` // no two of the same type and kernel
	// Kernels are of the GPUs of the host, no two of the same GPU, type, rung and class.
	Kernels []Kernel `json:"kernels,omitempty"`
}

// Host is the processor that settings hold for. Its model alone does not tell
// virtual machines apart, whose processors often name themselves vaguely.
type Host struct {
	CPU    string  `json:"cpu"`
	Caches []Cache `json:"caches"` // of data, smallest level first
}

// Cache is one level of cache.
type Cache struct {
	Level int   `json:"level"`
	Bytes int64 `json:"bytes"`
}

// Tune is the outcome of tuning for one element type and micro-kernel.
type Tune struct {
	Type   string `json:"type"`   // f32, f64
	Kernel string `json:"kernel"` // as in kernel.Kernel; its tile decides what fits where
	Values
	Time     time.Time `json:"time"`     // when it was measured
	Revision string    `json:"revision"` // of the program that measured
	Go       string    `json:"go"`       // the compiler of that program
	OS       string    `json:"os"`
	Cores    int       `json:"cores"` // that the program could use
}

// Values are the settings of one type and kernel. One that is 0 was not measured:
// the default serves.
type Values struct {
	// MC, KC and NC are the largest blocks in elements, as in block.Blocking. All of
	// them are 0, or none is.
	MC int `json:"mc"`
	KC int `json:"kc"`
	NC int `json:"nc"`
	// Direct is the largest m·n·k of a product that is computed from its operands
	// where they lie, without packing them.
	Direct int `json:"direct"`
	// Parallel is the least m·n·k of a product that two workers compute faster than
	// one.
	Parallel int `json:"parallel"`
	// Cutoff is the largest harmonic mean of m, n and k of products that Strassen's
	// algorithm does not halve. Winograd's form has it in proportion.
	Cutoff int `json:"cutoff"`
}

// The limits of values.
const (
	maxMC       = 1 << 16
	maxKC       = 1 << 12
	maxNC       = 1 << 16
	maxBlock    = 1 << 24 // elements of MC×KC and of KC×NC: 128 MiB of float64
	maxDirect   = 1 << 27 // operands of 512×512 do not fit the second level of any cache
	maxParallel = 1 << 45
)

// The limits of a cutoff. Below the least, the additions of a level cost more than
// it saves on any machine.
const (
	MinCutoff = 16
	MaxCutoff = 1 << 20
)

// check returns what cannot be of t.
func (t Tune) check() error {
	if t.Type != "f32" && t.Type != "f64" {
		return fmt.Errorf("the type %q is neither f32 nor f64", t.Type)
	}
	if t.Kernel == "" {
		return fmt.Errorf("the settings of %s name no kernel", t.Type)
	}
	for _, v := range []struct {
		name           string
		value, lo, max int
	}{
		{"mc", t.MC, 1, maxMC}, {"kc", t.KC, 1, maxKC}, {"nc", t.NC, 1, maxNC},
		{"direct", t.Direct, 1, maxDirect}, {"parallel", t.Parallel, 1, maxParallel}, {"cutoff", t.Cutoff, MinCutoff, MaxCutoff},
	} {
		if v.value != 0 && (v.value < v.lo || v.value > v.max) {
			return fmt.Errorf("%s of %s is %d, it can be %d to %d, or 0 where it was not measured", v.name, t.Type, v.value, v.lo, v.max)
		}
	}
	if t.MC*t.KC > maxBlock || t.KC*t.NC > maxBlock {
		return fmt.Errorf("the blocks of %s are %d×%d and %d×%d, they can have %d elements", t.Type, t.MC, t.KC, t.KC, t.NC, maxBlock)
	}
	if known := t.MC > 0; known != (t.KC > 0) || known != (t.NC > 0) {
		return fmt.Errorf("of mc, kc and nc of %s one is 0 and another is not", t.Type)
	}
	return nil
}

// Find returns what was tuned for the type and the kernel.
func (s Settings) Find(typ, kernel string) (Tune, bool) {
	i := s.index(typ, kernel)
	if i < 0 {
		return Tune{}, false
	}
	return s.Tuned[i], true
}

// index returns the index of the type and kernel, -1 where they are not there.
func (s Settings) index(typ, kernel string) int {
	return slices.IndexFunc(s.Tuned, func(t Tune) bool { return t.Type == typ && t.Kernel == kernel })
}

// With returns s with t in place of what it has for t's type and kernel.
func (s Settings) With(t Tune) Settings {
	s.Tuned = slices.DeleteFunc(slices.Clone(s.Tuned), func(old Tune) bool { return old.Type == t.Type && old.Kernel == t.Kernel })
	s.Tuned = append(s.Tuned, t)
	slices.SortFunc(s.Tuned, func(a, b Tune) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Kernel, b.Kernel))
	})
	return s
}

// inUse, where it is not nil, stands for what Load reads.
var inUse atomic.Pointer[Settings]

// Use has Load and For answer from s, whatever the file has. It is for programs,
// before their first product: engines that are there already keep what they have.
func Use(s Settings) { inUse.Store(&s) }

// Disable has the file ignored: For finds nothing. See Use.
func Disable() { Use(Settings{}) }

// For returns the values for the element type, f32 or f64, and the micro-kernel of
// the name, and whether there are any.
func For(typ, kernel string) (Values, bool) {
	s, err := Load()
	if err != nil {
		return Values{}, false
	}
	t, ok := s.Find(typ, kernel)
	return t.Values, ok
}

// Load returns the settings of this host, read once: none where there is no file,
// no folder for it, or GEMM_TUNED is off. The error is one line that says what is
// wrong with the file and what helps; there are no settings then.
func Load() (Settings, error) {
	if s := inUse.Load(); s != nil {
		return *s, nil
	}
	return load()
}

var load = sync.OnceValues(func() (Settings, error) {
	on, err := enabled(os.Getenv(Variable), testing.Testing())
	if !on || err != nil {
		return Settings{}, err
	}
	return Read()
})

// enabled reports whether the file counts, for a value of GEMM_TUNED.
func enabled(value string, test bool) (bool, error) {
	switch value {
	case "":
		return !test, nil
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, fmt.Errorf("%s=%q: wants on or off; no tuned settings are used", Variable, value)
}

// Read returns what the file of this host has now, whether it is in use or not;
// no settings where there is none. The error is Load's.
func Read() (Settings, error) {
	host := thisHost()
	path, err := pathOf(host)
	if err != nil {
		return Settings{}, nil // no folder for configuration has no file in it
	}
	s, err := read(path, host)
	if err != nil {
		return Settings{}, fmt.Errorf("%s is ignored: %w; gemm tune measures the settings anew", path, err)
	}
	return s, nil
}

// read returns the settings in the file at path, none where it is not there. They
// must be those of host, and no other user can have written them. The file may be a link.
func read(path string, host Host) (Settings, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, nil
	}
	if err != nil {
		return Settings{}, cause(err)
	}
	if !info.Mode().IsRegular() {
		return Settings{}, errors.New("it is no regular file")
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Settings{}, cause(err)
	}
	if err := cmp.Or(trust.Folder(filepath.Dir(path)), trust.File(file)); err != nil {
		return Settings{}, cause(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return Settings{}, cause(err)
	}
	return parse(data, host)
}

// errCorrupt: the file is no JSON, or of other types. It does not say more: what package json
// says has the names of types of this package.
var errCorrupt = errors.New("it is cut off or corrupt")

// parse returns the settings in data, which must be those of host.
func parse(data []byte, host Host) (Settings, error) {
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Settings{}, errCorrupt
	}
	if head.Schema != Schema {
		return Settings{}, fmt.Errorf("its schema is %d, this program reads %d", head.Schema, Schema)
	}
	var s Settings
	if err := json.Unmarshal(data, &s); err != nil {
		return Settings{}, errCorrupt
	}
	if s.Host.CPU != host.CPU || !slices.Equal(s.Host.Caches, host.Caches) {
		return Settings{}, fmt.Errorf("it is of another host: %s, here it is %s", s.Host, host)
	}
	for i, t := range s.Tuned {
		if err := t.check(); err != nil {
			return Settings{}, err
		}
		if s.index(t.Type, t.Kernel) != i {
			return Settings{}, fmt.Errorf("it has settings of %s and %s twice", t.Type, t.Kernel)
		}
	}
	if err := s.checkKernels(); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// Save replaces the file of this host by s, whole or not at all, and returns its
// path. What Load has answered stays as it is.
func Save(s Settings) (string, error) {
	host := thisHost()
	s.Schema, s.Host = Schema, host
	for _, t := range s.Tuned {
		if err := t.check(); err != nil {
			return "", err
		}
	}
	if err := s.checkKernels(); err != nil {
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
// folder where there is none.
func Writable() error {
	path, err := prepared(thisHost())
	if err != nil {
		return err
	}
	return advised(output.Writable(path))
}

// prepared returns the path of host's file, in a folder that is there, and where
// there is no other thing than a file.
func prepared(host Host) (string, error) {
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
		return "", unwritable(path, errors.New("it is no regular file"))
	}
	return path, nil
}

// Path returns where the settings of this host are kept, or an error where the
// user has no folder for configuration.
func Path() (string, error) { return pathOf(thisHost()) }

func pathOf(host Host) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for the settings: %w", err)
	}
	return filepath.Join(dir, "gemm", host.file()), nil
}

// thisHost returns this host.
var thisHost = sync.OnceValue(func() Host {
	facts := cpu.Host()
	h := Host{CPU: facts.Model, Caches: []Cache{}}
	for _, c := range facts.Caches {
		h.Caches = append(h.Caches, Cache{c.Level, c.Bytes})
	}
	return h
})

// String returns the model and the sizes of the caches.
func (h Host) String() string {
	return h.CPU + " with " + cmp.Or(strings.Join(h.sizes(), ", "), "unknown") + " of cache"
}

// sizes returns the sizes of the caches.
func (h Host) sizes() []string {
	var out []string
	for _, c := range h.Caches {
		if c.Bytes >= 1<<20 && c.Bytes%(1<<20) == 0 {
			out = append(out, fmt.Sprintf("%dM", c.Bytes>>20))
		} else {
			out = append(out, fmt.Sprintf("%dK", c.Bytes>>10))
		}
	}
	return out
}

// file returns the name of h's file: the model and the caches, in letters, digits
// and hyphens.
func (h Host) file() string {
	words := strings.FieldsFunc(strings.ToLower(h.CPU), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
	name := strings.Join(words, "-")
	return strings.ToLower(strings.Join(append([]string{name[:min(len(name), maxName)]}, h.sizes()...), "-")) + ".json"
}

// maxName is the most that a file's name has of the model.
const maxName = 80

// unwritable says that the settings cannot be written, and what helps.
func unwritable(path string, err error) error {
	return advised(fmt.Errorf("%s cannot be written: %w", path, cause(err)))
}

// advised says what helps where the settings cannot be written. It is nil where err is.
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
