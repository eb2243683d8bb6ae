package compare

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"gemm"
	"gemm/compare/note"
	"gemm/compare/topology"
	"gemm/cuda/occupancy"
	"gemm/internal/cpu"
	"gemm/internal/peak"
)

// DescribeHost returns what is known about this machine before any measurement. It is an error if
// GEMM_CPU names an instruction set that the machine does not have.
func DescribeHost() (Host, error) {
	isa, err := cpu.Detect()
	if err != nil {
		return Host{}, err
	}
	info := cpu.Host()
	h := Host{
		CPU: info.Model, Sockets: info.Sockets, NUMA: info.NUMANodes, Cores: info.Cores,
		Quota: None(), ISA: string(isa), Memory: info.Memory, PagePolicy: info.HugePages, OS: info.OS,
		Ceilings: []Ceiling{}, Bandwidths: []Bandwidth{}, Topology: topology.Here(),
	}
	held, _ := cpu.Held()
	h.Held = held != ""
	if info.Quota > 0 {
		h.Quota = Number(info.Quota)
	}
	for _, c := range info.Caches {
		h.Caches = append(h.Caches, Cache{Level: c.Level, Kind: c.Kind, Bytes: c.Bytes, Line: c.Line, Shared: c.Shared})
	}
	name, _ := os.Hostname()
	h.ID = h.id(name)
	return h, nil
}

// Name names a host by its processor and its GPUs, such as "Intel Xeon + NVIDIA H200". It is empty if
// neither is known.
func (h Host) Name() string {
	name := strings.NewReplacer("(R)", "", "(TM)", "", " Processor", "").Replace(h.CPU)
	parts := append([]string{strings.TrimSpace(name)}, slices.Compact(slices.Sorted(slices.Values(h.GPUs)))...)
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return strings.Join(parts, " + ")
}

// id returns the id of a host. Its name, which is hashed, tells machines of the same kind apart.
// The caches tell virtual machines with the same name apart: several generations of processors call
// themselves the same there.
func (h Host) id(name string) string {
	text := fmt.Append(nil, name, h.CPU, h.Sockets, h.Cores, h.ISA, h.Memory>>30, h.Caches)
	if h.Held { // its ceilings are others
		text = append(text, "held"...)
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%x", sum[:4])
}

// AddGPU adds a GPU to h, and where it is if its PCI address is known.
func (h *Host) AddGPU(g occupancy.GPU) {
	h.GPUs = append(h.GPUs, g.Name)
	if h.Topology != nil && g.PCI != "" {
		h.Topology.GPUs = append(h.Topology.GPUs, topology.NewGPU(g.Name, g.PCI))
	}
	g.Free, g.PCI = 0, "" // what is free changes, and the topology has the address
	h.Devices = append(h.Devices, g)
}

// copyGPUs replaces what h says of GPUs by what from says of them.
func (h *Host) copyGPUs(from Host) {
	h.GPUs, h.Devices, h.Driver, h.CUDA = from.GPUs, from.Devices, from.Driver, from.CUDA
	if h.Topology != nil && from.Topology != nil {
		t := *h.Topology
		t.GPUs = from.Topology.GPUs
		h.Topology = &t
	}
}

// Crowded returns a warning if the given threads cannot run on h at the same time, and "" if they
// can.
func (h Host) Crowded(threads int) note.Note {
	granted := math.Inf(1)
	if h.Quota.Known() {
		granted = float64(h.Quota)
	}
	switch {
	case float64(threads) > granted && granted < float64(h.Cores):
		return note.New("quota", threads, fmt.Sprintf("%.4g", granted), max(1, int(granted)))
	case threads > h.Cores:
		return note.New("crowded", threads, h.Cores, h.Cores)
	}
	return note.Note{}
}

// unknownGit is the revision of a program that was built without one.
const unknownGit = "unknown"

// newRun describes this invocation of the program.
func newRun(command, host string, now time.Time) RunInfo {
	r := RunInfo{
		Host: host, Command: command, Time: now.UTC().Truncate(time.Second),
		Git: unknownGit, Go: runtime.Version(), Libraries: map[string]string{}, Load: cpu.Load(),
	}
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range info.Deps {
			r.Libraries[m.Path] = m.Version
		}
		var flags []string
		modified := false
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				r.Git = s.Value
			case "vcs.modified":
				modified = s.Value == "true"
			case "GOAMD64":
				r.GOAMD64 = s.Value
			case "-gcflags", "-tags":
				flags = append(flags, s.Key+"="+s.Value)
			}
		}
		if modified {
			r.Git += "+dirty"
		}
		r.Flags = strings.Join(flags, " ")
	}
	sum := sha256.Sum256(fmt.Append(nil, host, command, now.UnixNano(), r.Git, r.Flags, r.GOAMD64))
	r.ID = fmt.Sprintf("%x", sum[:4])
	return r
}

// sameProgram reports whether two runs used the same program, so that their
// rows belong to one run.
func (r RunInfo) sameProgram(s RunInfo) bool {
	return r.Git == s.Git && r.Go == s.Go && r.GOAMD64 == s.GOAMD64 && r.Flags == s.Flags
}

// Commands returns the commands that measured the rows of the run, in their order.
func (r RunInfo) Commands() []string { return append([]string{r.Command}, r.Further...) }

// continuedBy returns the run after the command has added rows to it. A command that only resumes an earlier one is
// not noted again.
func (r RunInfo) continuedBy(command string) RunInfo {
	bare := func(command string) string { return strings.ReplaceAll(command, " --resume", "") }
	for _, earlier := range r.Commands() {
		if bare(earlier) == bare(command) {
			return r
		}
	}
	r.Further = append(slices.Clone(r.Further), command)
	return r
}

// ceilingTries is how often a peak is measured; the best one counts.
const ceilingTries = 3

// pipes returns the pipes whose peaks are measured for the cases: the floating-point ones, and
// gf256 if there are products in GF(2⁸).
func pipes(cases []Case) []string {
	out := []string{"f32", "f64"}
	if slices.ContainsFunc(cases, func(c Case) bool { return c.Type == "gf256" }) {
		out = append(out, "gf256")
	}
	return out
}

// measureCeilings measures the peaks of multiply-adds of the pipes at each number of
// threads, for the given time each, and puts them in h. It ends when ctx does.
func measureCeilings(ctx context.Context, h *Host, run string, pipes []string, threads []int, each time.Duration) {
	// The maximum of several, with the others in between: a process that shares the core for a second halves
	// the speed.
	first := len(h.Ceilings)
	for try := range ceilingTries {
		at := first
		for _, n := range threads {
			for _, pipe := range pipes {
				gflops, isa := peak.FMA(ctx, pipe, n, each)
				if ctx.Err() != nil {
					return
				}
				if try == 0 {
					h.Ceilings = append(h.Ceilings, Ceiling{Unit: "cpu", Pipe: pipe, ISA: string(isa), Threads: n, Run: run})
				}
				h.Ceilings[at].Gflops = max(h.Ceilings[at].Gflops, Number(gflops))
				at++
			}
		}
	}
}

// leastTriad is the time of a row from which the bandwidth is worth its arrays, whose first touch takes 0.2 to 1 s.
const leastTriad = 2 * time.Millisecond

// measureBandwidths measures the memory bandwidth at each number of threads, for the given
// time each, and puts them in h. It ends when ctx does.
func measureBandwidths(ctx context.Context, h *Host, run string, threads []int, each time.Duration) {
	for _, n := range threads {
		gbps := peak.Triad(ctx, n, triadBytes(h.Caches), each)
		if ctx.Err() != nil {
			return
		}
		h.Bandwidths = append(h.Bandwidths, Bandwidth{Unit: "cpu", Name: "triad", Threads: n, GBps: Number(gbps), Run: run})
	}
}

// mostTriad is the most bytes of the three arrays. On a large host, four times the cache would take
// seconds to touch for the first time, and a virtual machine has only a part of the cache that it
// reports.
const mostTriad int64 = 2 << 30

// triadBytes returns the size of each of the three arrays.
func triadBytes(caches []Cache) int64 {
	var last int64
	for _, c := range caches {
		last = max(last, c.Bytes)
	}
	return min(peak.TriadBytes(last), mostTriad/3)
}

// Peaks are the highest measured peaks of a document: of its ceilings, and of those between the samples
// of its rows. Other load can only lower a peak.
type Peaks map[peakOf]Ceiling

type peakOf struct {
	host, unit, pipe string
	device, threads  int
}

// Peaks returns the peaks of d. A peak on more threads than processors is none: the ranks took turns.
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
	for _, most := range []any{r.Resolved[processorLimit], h.processors(r)} {
		if most, ok := most.(int); ok && most > 0 {
			n = min(n, most)
		}
	}
	return n
}

// percent returns the speed of a row in percent of the peak on the processors that it kept busy, or of the
// pipe of the GPU that it ran on. It is the only such figure. The peak of ranks counts for those that computed.
func (p Peaks) percent(h Host, r Record) Number {
	if !r.Speed() {
		return None()
	}
	speed := r.Gflops
	if r.Type == "gf256" {
		speed = r.Rate
	}
	if r.GPU != nil {
		device, _ := r.Resolved["device"].(int)
		if c, ok := p.Of(h.ID, Ceiling{Unit: "gpu", Pipe: r.GPU.Pipe, Device: device}); ok {
			return 100 * speed / c.Gflops
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

// Settled returns d with the percent of the peak of each row by the peaks of the whole document: they may
// have been measured after the row.
func (d Document) Settled() Document {
	peaks, records := d.Peaks(), slices.Clone(d.Records)
	for i, r := range records {
		records[i].PercentPeak = peaks.percent(d.host(r.Host), r)
	}
	d.Records = records
	return d
}
