package record

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"

	"gemm/internal/cpu"
	"gemm/internal/note"
	"gemm/internal/occupancy"
)

// Host describes a machine that rows were measured on.
type Host struct {
	ID         string          `json:"id"`  // stable for the same machine, not personal: a hash of what is below
	CPU        string          `json:"cpu"` // model name
	Sockets    int             `json:"sockets"`
	NUMA       int             `json:"numa"`           // nodes
	Cores      int             `json:"cores"`          // processors that this process may use
	Quota      Number          `json:"quota"`          // cores' worth of time from the control group; null: no limit
	Caches     []Cache         `json:"caches"`         // of one core, smallest level first
	ISA        string          `json:"isa"`            // as in GEMM_CPU: avx512, avx2, …
	Held       bool            `json:"held,omitempty"` // libraries and ceilings were held to ISA too
	Memory     int64           `json:"memory"`         // bytes
	PagePolicy string          `json:"page_policy"`    // transparent huge pages: always, madvise, never, unknown
	OS         string          `json:"os"`
	GPUs       []string        `json:"gpus,omitempty"`
	Devices    []occupancy.GPU `json:"gpu_limits,omitempty"` // limits of the GPUs; older records have none
	Driver     string          `json:"driver,omitempty"`
	CUDA       string          `json:"cuda,omitempty"`
	MPI        string          `json:"mpi,omitempty"`
	Ceilings   []Ceiling       `json:"ceilings"`
	Bandwidths []Bandwidth     `json:"bandwidths"`

	// Topology is how the processors are nested; nil if it is not known.
	Topology *cpu.Topology `json:"topology,omitempty"`
}

// Cache is one level of cache as one core sees it.
type Cache struct {
	Level  int    `json:"level"`
	Kind   string `json:"kind"` // data, unified
	Bytes  int64  `json:"bytes"`
	Line   int    `json:"line"`   // bytes
	Shared int    `json:"shared"` // processors that share it
}

// Ceiling is a measured peak: multiply-adds on registers, in the widest instruction set that the
// processor has or that it was held to, on that many busy threads. For the pipe gf256 it is in 10⁹
// multiplications per second, each with an addition; for int8, in 10⁹ operations, two for a multiply-add.
type Ceiling struct {
	Unit    string `json:"unit"`             // cpu, gpu
	Device  int    `json:"device,omitempty"` // number of the GPU
	Pipe    string `json:"pipe"`             // f32, f64, gf256; of a GPU also tf32, f16, bf16, int8, f64-tensor
	ISA     string `json:"isa,omitempty"`
	Threads int    `json:"threads"`
	Gflops  Number `json:"gflops"` // of all threads together
	Run     string `json:"run"`
}

// Bandwidth is a measured memory bandwidth.
type Bandwidth struct {
	Unit    string `json:"unit"`             // cpu, gpu
	Device  int    `json:"device,omitempty"` // number of the GPU
	Name    string `json:"name"`             // triad, copy
	Threads int    `json:"threads"`
	GBps    Number `json:"gbps"`
	Run     string `json:"run"`
}

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
		Ceilings: []Ceiling{}, Bandwidths: []Bandwidth{}, Topology: cpu.HostTopology(),
	}
	held, _ := cpu.Held()
	h.Held = held != ""
	if info.Quota > 0 {
		h.Quota = Number(info.Quota)
	}
	for _, c := range info.Caches {
		h.Caches = append(h.Caches, Cache(c))
	}
	name, _ := os.Hostname()
	h.ID = h.id(name)
	return h, nil
}

// Name names a host by its processor and its GPUs, such as "Intel Xeon + NVIDIA H200". It is empty if neither is known.
func (h Host) Name() string {
	name := strings.NewReplacer("(R)", "", "(TM)", "", " Processor", "").Replace(h.CPU)
	parts := append([]string{strings.TrimSpace(name)}, slices.Compact(slices.Sorted(slices.Values(h.GPUs)))...)
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return strings.Join(parts, " + ")
}

// id returns the id of a host. Its hashed name distinguishes machines of the same kind. The caches distinguish
// virtual machines with the same name apart: several generations of processors call themselves the same there.
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
		h.Topology.GPUs = append(h.Topology.GPUs, cpu.NewAttachedGPU(g.Name, g.PCI))
	}
	g.Free, g.PCI = 0, "" // what is free changes, and the topology has the address
	h.Devices = append(h.Devices, g)
}

// CopyGPUs replaces what h says of GPUs by what from says of them.
func (h *Host) CopyGPUs(from Host) {
	h.GPUs, h.Devices, h.Driver, h.CUDA = from.GPUs, from.Devices, from.Driver, from.CUDA
	if h.Topology != nil && from.Topology != nil {
		t := *h.Topology
		t.GPUs = from.Topology.GPUs
		h.Topology = &t
	}
}

// Crowded returns a warning if the given threads cannot run on h at the same time, and "" if they can.
func (h Host) Crowded(threads int) note.Note {
	granted := float64(h.Quota) // NaN is less than no number
	switch {
	case float64(threads) > granted && granted < float64(h.Cores):
		return note.New("quota", threads, fmt.Sprintf("%.4g", granted), max(1, int(granted)))
	case threads > h.Cores:
		return note.New("crowded", threads, h.Cores, h.Cores)
	}
	return note.Note{}
}

// AddPeaks adds ceilings and bandwidths, except those that h has of the same run.
func (h *Host) AddPeaks(ceilings []Ceiling, bandwidths []Bandwidth) {
	h.Ceilings = union(h.Ceilings, ceilings, func(c Ceiling) Ceiling { c.ISA, c.Gflops = "", 0; return c })
	h.Bandwidths = union(h.Bandwidths, bandwidths, func(b Bandwidth) Bandwidth { b.GBps = 0; return b })
}

// union returns list with the items of more whose keys are new.
func union[T any, K comparable](list, more []T, key func(T) K) []T {
	for _, x := range more {
		if !slices.ContainsFunc(list, func(old T) bool { return key(old) == key(x) }) {
			list = append(list, x)
		}
	}
	return list
}
