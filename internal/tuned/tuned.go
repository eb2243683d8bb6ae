// Package tuned has the results of gemm tune for a host: block sizes, break-even sizes between implementations, and
// tiles of kernels on its GPUs.
//
// The package reads no file. A program that uses the settings of its host reads them with package settings
// and passes them to Use before its first product. Otherwise block sizes are computed from the caches.
package tuned

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Settings are the results for one host, which are the content of the file.
type Settings struct {
	Schema int    `json:"schema"`
	Host   Host   `json:"host"`
	Tuned  []Tune `json:"tuned"` // no two of the same type and kernel
	// Kernels has the settings for the GPUs of the host; no two have the same GPU, type, rung and class.
	Kernels []Kernel `json:"kernels,omitempty"`
}

// Host is the processor for which settings are valid. The model alone is not enough: virtual machines often have
// vague names for different processors.
type Host struct {
	CPU    string  `json:"cpu"`
	Caches []Cache `json:"caches"` // data caches, smallest level first
}

// Cache is one level of cache.
type Cache struct {
	Level int   `json:"level"`
	Bytes int64 `json:"bytes"`
}

// Tune is the outcome of tuning for one element type and micro-kernel.
type Tune struct {
	Type   string `json:"type"`   // f32, f64
	Kernel string `json:"kernel"` // name in kernel.Kernel; its tile decides which blocks fit
	Values
	Time     time.Time `json:"time"`     // when it was measured
	Revision string    `json:"revision"` // of the program that measured
	Go       string    `json:"go"`       // the compiler of that program
	OS       string    `json:"os"`
	Cores    int       `json:"cores"` // processors that the program could use
}

// Values are the settings of one type and kernel. If one is 0, it was not measured, and the default is used.
type Values struct {
	// MC, KC and NC are the largest blocks in elements, as in block.Blocking. Either all of them are 0 or none.
	MC int `json:"mc"`
	KC int `json:"kc"`
	NC int `json:"nc"`
	// Direct is the largest m·n·k of a product that reads its operands in place, without packing.
	Direct int `json:"direct"`
	// Parallel is the least m·n·k of a product that two workers compute faster than one.
	Parallel int `json:"parallel"`
	// Cutoff is the largest harmonic mean of m, n and k for which Strassen's algorithm does not halve. Winograd's form
	// uses it in proportion.
	Cutoff int `json:"cutoff"`
}

// The limits of a cutoff. Below the least one, the additions of a level cost more than it saves on any machine.
const (
	MinCutoff = 16
	MaxCutoff = 1 << 20
)

// Find returns the entry for the type and the kernel.
func (s Settings) Find(typ, kernel string) (Tune, bool) {
	i := slices.IndexFunc(s.Tuned, func(t Tune) bool { return t.Type == typ && t.Kernel == kernel })
	if i < 0 {
		return Tune{}, false
	}
	return s.Tuned[i], true
}

// With returns s with t in place of an entry for the same type and kernel.
func (s Settings) With(t Tune) Settings {
	s.Tuned = slices.DeleteFunc(slices.Clone(s.Tuned),
		func(old Tune) bool { return old.Type == t.Type && old.Kernel == t.Kernel })
	s.Tuned = append(s.Tuned, t)
	slices.SortFunc(s.Tuned, func(a, b Tune) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Kernel, b.Kernel))
	})
	return s
}

// inUse is the last argument of Use, nil before the first call.
var (
	inUse atomic.Pointer[Settings]
	uses  atomic.Int64
)

// Use sets the settings that For and ForKernel return. Programs call it before their first product: existing engines
// do not change.
func Use(s Settings) {
	inUse.Store(&s)
	uses.Add(1)
}

// Uses returns how often Use was called, so that what was made with other settings is recognised.
func Uses() int64 { return uses.Load() }

// Disable removes all settings; see Use.
func Disable() { Use(Settings{}) }

// InUse returns the last argument of Use, or no settings.
func InUse() Settings {
	if s := inUse.Load(); s != nil {
		return *s
	}
	return Settings{}
}

// For returns the values for the element type, f32 or f64, and the micro-kernel, and whether there are any.
func For(typ, kernel string) (Values, bool) {
	t, ok := InUse().Find(typ, kernel)
	return t.Values, ok
}

// String returns the model and the sizes of the caches.
func (h Host) String() string {
	return h.CPU + " with " + cmp.Or(strings.Join(h.Sizes(), ", "), "unknown") + " of cache"
}

// Sizes returns the sizes of the caches, such as 32K.
func (h Host) Sizes() []string {
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
