package record

import (
	"cmp"
	"slices"

	"gemm"
)

// Peaks are the highest measured peaks of a document: of its ceilings, and of peaks between the samples
// of its rows. Other load can only lower a peak.
type Peaks map[peakOf]Ceiling

type peakOf struct {
	host, unit, pipe string
	device, threads  int
}

// Peaks returns the peaks of d. A peak on more threads than processors is ignored: the ranks shared processors.
func (d Document) Peaks() Peaks {
	out, most := Peaks{}, map[string]int{}
	for _, h := range d.Hosts {
		most[h.ID] = h.Cores
	}
	for _, r := range d.Records {
		most[r.Host] = max(most[r.Host], d.host(r.Host).processors(r))
	}
	add := func(host string, c Ceiling) {
		at := placeOf(host, c)
		if old := out[at]; c.Gflops > old.Gflops && (most[host] == 0 || at.threads <= most[host]) {
			c.ISA = cmp.Or(c.ISA, old.ISA)
			out[at] = c
		}
	}
	for _, h := range d.Hosts {
		for _, c := range h.Ceilings {
			add(h.ID, c)
		}
	}
	for _, r := range d.Records {
		n := d.host(r.Host).occupied(r)
		if r.GPU == nil && (len(r.Ranks) == 0 || n == r.Threads) {
			add(r.Host, Ceiling{Unit: "cpu", Pipe: gemm.TypeNamed(r.Type).Pipe(), Threads: n,
				Gflops: Number(r.Ceiling), Run: r.Run})
		}
	}
	return out
}

// host returns the host with the id, without more if d does not describe it.
func (d Document) host(id string) Host {
	for _, h := range d.Hosts {
		if h.ID == id {
			return h
		}
	}
	return Host{ID: id, Quota: None()}
}

// Of returns the highest peak of the host in the place of c: its unit, device, pipe and number of threads.
func (p Peaks) Of(host string, c Ceiling) (Ceiling, bool) {
	c, ok := p[placeOf(host, c)]
	return c, ok
}

func placeOf(host string, c Ceiling) peakOf {
	if c.Unit == "gpu" {
		c.Threads = 0
	}
	return peakOf{host, c.Unit, c.Pipe, c.Device, c.Threads}
}

// processors returns how many processors a row could use, on all hosts of its ranks. 0: it is not known.
func (h Host) processors(r Record) int {
	bound, hosts := 0, map[string]bool{} // a rank that is bound knows of its own processors alone
	for _, x := range r.Ranks {
		hosts[x.Host] = true
	}
	for _, ids := range processorsOf(r.Ranks) {
		bound += len(ids)
	}
	return max(bound, h.Cores*max(1, r.Hosts, len(hosts)))
}

// occupied returns how many processors the threads of a row had: no more than GOMAXPROCS, or than there are.
func (h Host) occupied(r Record) int {
	n := max(r.Threads, 1)
	for _, most := range []any{r.Resolved[LimitParam], h.processors(r)} {
		if most, ok := most.(int); ok && most > 0 {
			n = min(n, most)
		}
	}
	return n
}

// percent returns the speed of a row in percent of the peak on the processors that it kept busy, or of the
// pipe of the GPU that it ran on. It is the only such figure. For ranks, the peak of the ranks that computed counts.
func (p Peaks) percent(h Host, r Record) Number {
	if !r.Speed() || r.RanksOnGPUs() { // whose peaks no rank knows
		return None()
	}
	speed := r.Gflops
	if r.Type == "gf256" {
		speed = r.Rate
	}
	if r.GPU != nil {
		device, _ := r.Resolved["device"].(int)
		several, _ := r.Resolved["devices"].(int)
		if c, ok := p.Of(h.ID, Ceiling{Unit: "gpu", Pipe: r.GPU.Pipe, Device: device}); ok {
			return 100 * speed / (c.Gflops * Number(max(1, several)))
		}
		return r.PercentPeak
	}
	c, ok := p.Of(h.ID, Ceiling{Unit: "cpu", Pipe: gemm.TypeNamed(r.Type).Pipe(), Threads: h.occupied(r)})
	switch {
	case !ok:
		return None()
	case r.outsideGrid() > 0:
		c.Gflops *= Number(r.RanksUsed) / Number(len(r.Ranks))
	}
	return 100 * speed / c.Gflops
}

// WithPeaks returns d with the percent of the peak of each row by the peaks of the whole document: they may
// have been measured after the row.
func (d Document) WithPeaks() Document {
	peaks, records := d.Peaks(), slices.Clone(d.Records)
	for i, r := range records {
		records[i].PercentPeak = peaks.percent(d.host(r.Host), r)
	}
	d.Records = records
	return d
}
