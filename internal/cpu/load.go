package cpu

import (
	"strconv"
	"strings"
)

// Load returns how many threads ran or waited for a processor of this host on average in the last minute. It
// is 0 if that is not known, as outside of Linux.
func Load() float64 { return load(root) }

func load(files reader) float64 {
	first, _, _ := strings.Cut(text(files, "proc/loadavg"), " ")
	x, err := strconv.ParseFloat(first, 64)
	if err != nil || !(x >= 0) {
		return 0
	}
	return x
}

// Ticks is the time of the processors since the start of the host, in ticks of its clock.
type Ticks struct{ Stolen, All uint64 }

// ReadTicks returns the ticks so far; zero if they are not known.
func ReadTicks() Ticks { return ticks(root) }

// ticks reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. What guests
// took is in user already.
func ticks(files reader) Ticks {
	line, _, _ := strings.Cut(text(files, "proc/stat"), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return Ticks{}
	}
	var t Ticks
	for _, field := range fields[1:9] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return Ticks{}
		}
		t.All += n
		t.Stolen = n
	}
	return t
}

// leastTicks is a time, of all processors together, that is long enough for a share of it to mean something.
const leastTicks = 100

// StolenSince returns the part of the processors' time that a hypervisor gave to others since from. It is 0 if
// that is not known, or the time is short.
func (t Ticks) StolenSince(from Ticks) float64 {
	if t.All < from.All+leastTicks || t.Stolen < from.Stolen {
		return 0
	}
	return float64(t.Stolen-from.Stolen) / float64(t.All-from.All)
}
