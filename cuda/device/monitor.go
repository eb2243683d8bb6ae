//go:build cuda

package device

import (
	"slices"
	"strings"

	"github.com/ebitengine/purego"
)

// monitor reads the clocks of a GPU (NVML API Reference).
type monitor struct {
	device  uintptr
	clock   func(device uintptr, kind int32, mhz *uint32) int32
	reasons func(device uintptr, reasons *uint64) int32
}

// newMonitor opens NVML for the GPU of that number; nil where it is not there, and the
// clocks are not known.
func newMonitor(number int) *monitor {
	at, err := purego.Dlopen("libnvidia-ml.so.1", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil
	}
	m := &monitor{}
	var start func() int32
	var find func(number uint32, device *uintptr) int32
	for symbol, f := range map[string]any{
		"nvmlInit_v2": &start, "nvmlDeviceGetHandleByIndex_v2": &find,
		"nvmlDeviceGetClockInfo": &m.clock, "nvmlDeviceGetCurrentClocksThrottleReasons": &m.reasons,
	} {
		address, err := purego.Dlsym(at, symbol)
		if err != nil {
			return nil
		}
		purego.RegisterFunc(f, address)
	}
	if start() != 0 || find(uint32(number), &m.device) != 0 {
		return nil
	}
	return m
}

// driverVersion returns the version of the kernel driver; empty where it is not known.
func driverVersion() string {
	at, err := purego.Dlopen("libnvidia-ml.so.1", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return ""
	}
	var start func() int32
	var version func(text *byte, length uint32) int32
	for symbol, f := range map[string]any{"nvmlInit_v2": &start, "nvmlSystemGetDriverVersion": &version} {
		address, err := purego.Dlsym(at, symbol)
		if err != nil {
			return ""
		}
		purego.RegisterFunc(f, address)
	}
	text := make([]byte, 80)
	if start() != 0 || version(&text[0], uint32(len(text))) != 0 {
		return ""
	}
	name, _, _ := strings.Cut(string(text), "\x00")
	return name
}

// What holds a clock back (nvmlClocksThrottleReason…). That the GPU is idle, or that the
// user has set a clock, is none of them.
var throttles = []struct {
	bit  uint64
	name string
}{
	{0x4, "power cap"}, {0x8, "hardware slowdown"}, {0x20, "software thermal slowdown"},
	{0x40, "hardware thermal slowdown"}, {0x80, "power brake"},
}

// clocks are those seen while a product ran.
type clocks struct {
	mhz  []int
	held map[string]int // samples, by what held the clock back
}

// sample reads the clock of the multiprocessors now.
func (m *monitor) sample(c *clocks) {
	if m == nil {
		return
	}
	const multiprocessors = 1
	var mhz uint32
	if m.clock(m.device, multiprocessors, &mhz) != 0 {
		return
	}
	c.mhz = append(c.mhz, int(mhz))
	var reasons uint64
	if m.reasons(m.device, &reasons) != 0 {
		return
	}
	for _, t := range throttles {
		if reasons&t.bit != 0 {
			if c.held == nil {
				c.held = map[string]int{}
			}
			c.held[t.name]++
		}
	}
}

// median returns the median clock; 0 where none was read.
func (c *clocks) median() int {
	if len(c.mhz) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(c.mhz))
	return sorted[len(sorted)/2]
}

// throttled names what held the clock back in more than half of the samples.
func (c *clocks) throttled() string {
	var names []string
	for _, t := range throttles {
		if 2*c.held[t.name] > len(c.mhz) {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, ", ")
}
