//go:build cuda

package device

import (
	"slices"
	"strings"
	"sync"

	"gorgonia.org/cu"

	"gemm/compare/record"
	"gemm/internal/dl"
	"gemm/internal/note"
)

// nvml is the library that watches GPUs (NVML API Reference).
type nvml struct {
	start   func() int32
	version func(text *byte, length uint32) int32
	find    func(bus string, device *uintptr) int32
	memory  func(device uintptr, bytes *[3]uint64) int32 // in all, free, used
	clock   func(device uintptr, kind int32, mhz *uint32) int32
	reasons func(device uintptr, reasons *uint64) int32
	fields  func(device uintptr, count int32, values *fieldValue) int32
}

// fieldValue is nvmlFieldValue_t.
type fieldValue struct {
	field  uint32
	_      uint32 // scope
	_, _   int64  // when it was read, and how long that took
	_      int32  // the type of the value
	status int32
	value  uint64
}

// openNVML opens the library once in a process; nil if there is none.
var openNVML = sync.OnceValue(func() *nvml {
	at, err := dl.Open("libnvidia-ml.so.1")
	if err != nil {
		return nil
	}
	l := &nvml{}
	err = at.Bind(map[string]any{
		"nvmlInit_v2": &l.start, "nvmlSystemGetDriverVersion": &l.version, "nvmlDeviceGetHandleByPciBusId_v2": &l.find,
		"nvmlDeviceGetMemoryInfo": &l.memory, "nvmlDeviceGetClockInfo": &l.clock,
		"nvmlDeviceGetCurrentClocksThrottleReasons": &l.reasons,
		"nvmlDeviceGetFieldValues":                  &l.fields,
	})
	if err != nil {
		return nil
	}
	if l.start() != 0 {
		return nil
	}
	return l
})

// driverVersion returns the version of the kernel driver; empty if it is not known.
func driverVersion() string {
	l, text := openNVML(), make([]byte, 80)
	if l == nil || l.version(&text[0], uint32(len(text))) != 0 {
		return ""
	}
	name, _, _ := strings.Cut(string(text), "\x00")
	return name
}

// monitor reads the memory, the clocks and the power of a GPU.
type monitor struct {
	*nvml
	device uintptr
}

// newMonitor finds the GPU by its position on the bus. If that is not possible, it returns nil, and none of
// them is known.
func newMonitor(at cu.Device) *monitor {
	m := &monitor{nvml: openNVML()}
	bus, err := busID(at)
	if err != nil || m.nvml == nil || m.find(bus, &m.device) != 0 {
		return nil
	}
	return m
}

// free returns the free memory in bytes; 0 if it is not known.
func (m *monitor) free() int64 {
	var bytes [3]uint64
	if m == nil || m.memory(m.device, &bytes) != 0 {
		return 0
	}
	return int64(bytes[1])
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

// watts returns the power that the GPU takes now; 0 if it is not known.
func (m *monitor) watts() float64 {
	const now = 186 // NVML_FI_DEV_POWER_INSTANT in milliwatts, which older drivers do not have
	v := fieldValue{field: now}
	if m == nil || m.fields(m.device, 1, &v) != 0 || v.status != 0 {
		return 0
	}
	return float64(uint32(v.value)) / 1e3
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

// describe writes the median clock, 0 if none was read, and what held the clock back in more than half of the samples.
func (c *clocks) describe(out *record.Device) {
	if len(c.mhz) > 0 {
		out.Clock = slices.Sorted(slices.Values(c.mhz))[len(c.mhz)/2]
	}
	var names []string
	for _, t := range throttles {
		if 2*c.held[t.name] > len(c.mhz) {
			names = append(names, t.name)
		}
	}
	if out.Throttled = strings.Join(names, ", "); out.Throttled != "" {
		out.Warnings = append(out.Warnings, note.New("clock", out.Throttled))
	}
}
