package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"gemm"
	"gemm/compare/note"
	"gemm/compare/topology"
	"gemm/cuda/occupancy"
	"gemm/cuda/usage"
	"gemm/internal/cpu"
	"gemm/internal/output"
	"gemm/mpi/account"
	"gemm/parallel/timeline"
)

// Schema is the version of the records that this program writes. A document of
// a newer one is refused. Records of schema 1 say nothing of variants.
const Schema = 2

// OutputSchema is the version of what commands print that are no records.
const OutputSchema = 1

// Number is a float64; NaN means absent. In JSON, which has neither NaN nor infinity, both are null.
type Number float64

// None is the absent Number.
func None() Number { return Number(math.NaN()) }

// Known reports whether x is finite: neither absent nor infinite.
func (x Number) Known() bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// shown is x as JSON has it.
func (x Number) shown() string {
	data, _ := x.MarshalJSON() // null, or a number
	return string(data)
}

// MarshalJSON writes x, or null if it is not finite.
func (x Number) MarshalJSON() ([]byte, error) {
	if !x.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// UnmarshalJSON reads a number, or null as NaN.
func (x *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*x = None()
		return nil
	}
	return json.Unmarshal(data, (*float64)(x))
}

// Document is a set of records with the hosts and runs that they come from.
type Document struct {
	Schema       int           `json:"schema"`
	Variants     []Variant     `json:"variants"` // of the rows
	Hosts        []Host        `json:"hosts"`
	Runs         []RunInfo     `json:"runs"`
	Records      []Record      `json:"records"`
	Measurements []Measurement `json:"measurements"`
	Traces       []Trace       `json:"traces"`
}

// Variant is what a document says of a variant: what it declares, and the names of its element types.
type Variant struct {
	gemm.Variant
	Types []string `json:"types"`
}

// Of returns what records say of v.
func Of(v gemm.Variant) Variant {
	out := Variant{v, v.Types()}
	out.Params, out.Model, out.Accepts, out.Ran, out.Source = nil, nil, nil, nil, nil
	out.Bound, out.BoundOf = gemm.Bound{}, nil
	out.F32, out.F64, out.F16, out.BF16, out.GF256 = nil, nil, nil, nil, nil
	return out
}

// Declared returns d with what it does not say of variants as suite has it, in the order of suite: of its own variants,
// which records of schema 1 do not describe, and of those that it has no rows of. Variants of neither come last. Rows
// of old recursions get the variant that computed them.
func (d Document) Declared(suite []gemm.Variant) Document {
	own := map[string]Variant{}
	for _, v := range d.Variants {
		own[v.Name] = v
	}
	rest := d.Variants
	recursions := map[string]gemm.Variant{}
	d.Variants = nil
	for _, v := range suite {
		if _, ok := own[v.Name]; !ok {
			own[v.Name] = Of(v)
		}
		d.Variants = append(d.Variants, own[v.Name])
		if v.Ran != nil {
			recursions[v.Name] = v
		}
	}
	d.Records = slices.Clone(d.Records)
	for i := range d.Records {
		r := &d.Records[i]
		if _, ok := own[r.Variant]; !ok {
			own[r.Variant] = undeclared(*r)
			rest = append(slices.Clip(rest), own[r.Variant])
		}
		if v, ok := recursions[r.Variant]; ok && r.Ran() == "" {
			r.setRan(v)
		}
	}
	for _, v := range rest {
		if !slices.ContainsFunc(suite, func(of gemm.Variant) bool { return of.Name == v.Name }) {
			d.Variants = append(d.Variants, v)
		}
	}
	return d
}

// undeclared is the variant of a row of schema 1 that no suite has: a kernel of the user, by its family, or a
// rung. A GPU computed it if it was measured next to what GPUs compute.
func undeclared(r Record) Variant {
	v := gemm.Variant{Name: r.Variant}
	if v.Family() == "user" {
		v.Role = gemm.Brought
	}
	if strings.HasPrefix(r.Turn, "cuda ") {
		v.Location = gemm.OnGPU
	}
	return Variant{Variant: v}
}

// setRan says which variant computed r, a row of the recursion v, if its cut-off is known and ended it before the
// first division.
func (r *Record) setRan(v gemm.Variant) {
	p, known := gemm.Params{}, false
	for _, q := range v.Params {
		for _, of := range []gemm.Params{r.Params, r.Resolved} {
			if value, ok := of[q.Name]; ok {
				p[q.Name], known = value, known || q.Name == "cutoff"
			}
		}
	}
	if p, err := v.Resolve(p); err == nil && known && v.Ran(r.Shape, p) != "" {
		r.Resolved = maps.Clone(r.Resolved)
		if r.Resolved == nil {
			r.Resolved = gemm.Params{}
		}
		r.Resolved["ran"] = v.Ran(r.Shape, p)
	}
}

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
	Topology *topology.Topology `json:"topology,omitempty"`
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

// RunInfo describes one invocation of the program.
type RunInfo struct {
	ID        string            `json:"id"`
	Host      string            `json:"host"`
	Command   string            `json:"command"`
	Further   []string          `json:"further,omitempty"` // commands that added rows by --resume
	Time      time.Time         `json:"time"`
	Git       string            `json:"git"` // revision the program was built from, "+dirty" if modified
	Go        string            `json:"go"`
	GOAMD64   string            `json:"goamd64"`
	Load      float64           `json:"load,omitempty"` // average over a minute, of processors, when it began
	Flags     string            `json:"flags"`          // build flags that matter: -gcflags, -tags
	Libraries map[string]string `json:"libraries"`      // module versions, and the versions of libraries found at run time
}

// Status is the outcome of a row.
type Status string

// The outcomes. Only a row that is OK has a speed.
const (
	OK          Status = "ok"          // residual ≤ bound was checked on this very result
	Wrong       Status = "wrong"       // it was not within the bound
	Suspect     Status = "suspect"     // its time cannot be true
	Skipped     Status = "skipped"     // predicted to exceed its budget or the memory, or to prove nothing
	Unavailable Status = "unavailable" // cannot run here; the reason says what to do
	Timeout     Status = "timeout"     // took longer than --timeout
	Failed      Status = "error"       // returned an error, panicked or lost its process
)

// Bad reports whether a row with the outcome went wrong, and not only could not or should not be measured.
func (s Status) Bad() bool { return s == Wrong || s == Suspect || s == Failed || s == Timeout }

// Record is one row: one variant on one case.
type Record struct {
	Key
	Run      string      `json:"run"`
	Compute  string      `json:"compute"`  // arithmetic used: f64, f32, tf32, f16x3, f16, bf16, gf256
	Threads  int         `json:"threads"`  // busy threads; 1 for the serial family
	Params   gemm.Params `json:"params"`   // as asked
	Resolved gemm.Params `json:"resolved"` // as run
	Status   Status      `json:"status"`
	Reason   note.Note   `json:"reason,omitzero"`
	Warnings []note.Note `json:"warnings,omitempty"`

	// Operands is how the operands were drawn, of a row that was measured: a GPU takes less power for some.
	Operands string `json:"operands,omitempty"`

	Samples     []float64   `json:"samples_s"` // seconds a call, at most 1000
	Sampled     *Sampled    `json:"sampled,omitempty"`
	Inner       int         `json:"inner"` // calls a sample
	Turn        string      `json:"turn,omitempty"`
	Median      Number      `json:"median_s"`
	Again       []Again     `json:"again,omitempty"`
	CI          *[2]float64 `json:"ci_s"` // 95 % interval of the median; null if there are too few samples
	Gflops      Number      `json:"gflops"`
	Rate        Number      `json:"rate"`
	Unit        string      `json:"unit"`      // of rate: GFLOP/s, Gmul/s
	DataGBps    Number      `json:"data_gbps"` // k·n bytes over the median, of gf256: the data that a code reads
	PercentPeak Number      `json:"percent_peak"`
	// Ceiling is the peak on as many threads, in the unit of Rate, measured between the samples of
	// the row. PercentPeak is relative to it. 0: it was not measured there, and the ceiling of the
	// run is used.
	Ceiling float64 `json:"ceiling_gflops,omitempty"`

	Phases    map[string]float64 `json:"phases_s,omitempty"`
	Residual  Number             `json:"residual"` // normalised; null with a reason if it is not finite
	Bound     Number             `json:"bound"`    // its limit
	BoundKind gemm.BoundKind     `json:"bound_kind"`
	Predicted *Predicted         `json:"predicted,omitempty"`

	// Of the family mpi; account.Distribution says which bytes are counted.
	Ranks          []account.Rank `json:"ranks,omitempty"`
	RanksUsed      int            `json:"ranks_used,omitempty"`
	BytesCounted   int64          `json:"bytes_counted,omitempty"`
	BytesPredicted int64          `json:"bytes_predicted,omitempty"`
	BytesBound     float64        `json:"bytes_bound,omitempty"`
	// All bytes that ranks received from other hosts.
	BytesBetween          int64 `json:"bytes_between,omitempty"`
	BytesBetweenPredicted int64 `json:"bytes_between_predicted,omitempty"`
	// ModelSeconds is the predicted time. The others are the times of its parts: of latencies, of bytes
	// and of computation.
	ModelSeconds  float64 `json:"model_s,omitempty"`
	ModelLatency  float64 `json:"model_latency_s,omitempty"`
	ModelTransfer float64 `json:"model_transfer_s,omitempty"`
	ModelCompute  float64 `json:"model_compute_s,omitempty"`

	// Of the family cuda.
	GPU *usage.Device `json:"gpu,omitempty"`

	// Steal is the part of the processors' time that a hypervisor gave to others while the row was measured.
	Steal float64 `json:"steal,omitempty"`

	// Noise is the factor by which times of identical code differ in the rows that r is compared with: in one
	// turn, and otherwise. Reports set it; 0: it is not known.
	Noise [2]float64 `json:"-"`

	// Of is what the document says of the variant; nil: nothing. Reports set it.
	Of *Variant `json:"-"`
}

// Sampled summarises samples of which only quantiles are kept. The median and the interval of a row are of all.
type Sampled struct {
	Count     int         `json:"count"`
	Quartiles [2]float64  `json:"quartiles"`
	CI        *[2]float64 `json:"ci,omitempty"` // of the median of a measurement, which has it nowhere else
}

// Again is the median of the same row in a further run of the same commands.
type Again struct {
	Run    string `json:"run"`
	Median Number `json:"median_s"`
}

// Predicted is what the variant's model says of the case on this host.
type Predicted struct {
	Flops     float64 `json:"flops"`
	Accesses  float64 `json:"accesses"`        // elements loaded and stored
	Workspace float64 `json:"workspace_bytes"` // besides the operands
	// The bytes moved between a level of cache and what lies behind it: the first
	// level, the second, and the last, behind which is memory.
	L1Traffic float64 `json:"l1_traffic_bytes"`
	L2Traffic float64 `json:"l2_traffic_bytes"`
	Traffic   float64 `json:"traffic_bytes"`
}

// Count returns how many samples r had.
func (r Record) Count() int { return count(r.Samples, r.Sampled) }

// Count returns how many samples m had.
func (m Measurement) Count() int { return count(m.Samples, m.Sampled) }

func count(samples []float64, of *Sampled) int {
	if of != nil {
		return of.Count
	}
	return len(samples)
}

// Speed reports whether r may be quoted with a speed: it is ok and was timed.
func (r Record) Speed() bool { return r.Status == OK && r.Median.Known() }

// Note returns the reason of r, the variant that computed it if that is another, and what its warnings are
// about, in one line. The record has the warnings in full.
func (r Record) Note() string {
	var notes []string
	if r.Reason.Text != "" {
		notes = append(notes, strings.ReplaceAll(output.Line(r.Reason.Text), ": gemm: ", ": "))
	}
	if ran := r.Ran(); ran != "" {
		notes = append(notes, "computed by "+ran)
	}
	for _, warning := range r.Cautions() {
		about, _, _ := strings.Cut(warning.Text, ":")
		notes = append(notes, about)
	}
	return strings.Join(notes, "; ")
}

// Ran returns the variant that computed r if it is another, which the row says since there are recursions
// with a cut-off; "": its own.
func (r Record) Ran() string {
	ran, _ := r.Resolved["ran"].(string)
	return ran
}

// Cautions returns the warnings of r, and one if it is faster than the measured peak by more than its spread.
func (r Record) Cautions() []note.Note {
	slowest := 1.03
	if r.CI != nil {
		slowest = max(slowest, r.CI[1]/float64(r.Median))
	}
	if !r.Speed() || !(float64(r.PercentPeak) > 100*slowest) {
		return r.Warnings
	}
	why := "beyond"
	if r.Predicted != nil && r.Predicted.Flops < 0.99*2*r.Terms()*float64(max(1, r.Batch)) {
		why = "fewer"
	}
	return append(slices.Clone(r.Warnings), note.New(why))
}

// Warns reports whether r has the warning of the code.
func (r Record) Warns(code string) bool {
	return slices.ContainsFunc(r.Warnings, func(n note.Note) bool { return n.Code == code })
}

// Measurement is a figure that is not a product: a bandwidth over sizes, an
// overhead, the rate of a micro-kernel in cache.
type Measurement struct {
	Host    string      `json:"host"`
	Run     string      `json:"run"`
	Name    string      `json:"name"`
	Params  gemm.Params `json:"params"`
	Unit    string      `json:"unit"`
	Samples []float64   `json:"samples"`
	Sampled *Sampled    `json:"sampled,omitempty"`
	// Reason says why there are no samples.
	Reason string `json:"reason,omitempty"`
}

// Trace is the timeline of one more product of a row, made after its samples.
type Trace struct {
	Key
	Run      string      `json:"run"`
	Params   gemm.Params `json:"params"`   // as asked
	Resolved gemm.Params `json:"resolved"` // as run
	Workers  int         `json:"workers"`
	Seconds  float64     `json:"seconds"` // of the whole product
	// Spans has at most 4000 spans. If there are more chunks, the chunks of a worker with the
	// shortest gaps between them are joined. A joined span goes from the first index of its first
	// chunk to the last of its last chunk, although other workers may have computed some between;
	// it is as long as its chunks together.
	Spans []timeline.Span `json:"spans"`
	// Ranks are those of this product, as Record.Ranks has those of a sample. A lane is a rank.
	Ranks []account.Rank `json:"ranks,omitempty"`
	timeline.Activity
}

// identity returns what tells r from other rows.
func (r Record) identity() identity { return r.Key.with(r.Params) }

// trace returns the trace of r before it is made.
func (r Record) trace() Trace {
	return Trace{Key: r.Key, Run: r.Run, Params: r.Params, Resolved: r.Resolved, Spans: []timeline.Span{}}
}

// identity returns the identity of the row of t.
func (t Trace) identity() identity { return t.Key.with(t.Params) }

// Problem is an operation on operands with a storage: what several variants compute.
type Problem struct {
	Type  string  `json:"type"` // f64, f32, f16, bf16, gf256
	Op    string  `json:"op"`   // nn, nt, tn, tt: how A and B are stored
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
	gemm.Shape
	LDA   int `json:"lda"`
	LDB   int `json:"ldb"`
	LDC   int `json:"ldc"`
	Batch int `json:"batch,omitempty"` // products of the shape, computed as one batch; 0: one product, and no batch
}

// String returns all that p consists of.
func (p Problem) String() string {
	text := fmt.Sprint(p.Type, " ", p.Shape, " ", p.Op, " ", p.Alpha, " ", p.Beta, " ", p.LDA, ",", p.LDB, ",", p.LDC)
	if p.Batch > 0 {
		text += fmt.Sprint(" batch ", p.Batch)
	}
	return text
}

// Label returns the shape of p as tables show it, with the products of a batch before it.
func (p Problem) Label() string {
	switch {
	case p.Batch == 0:
		return p.Shape.Label()
	case p.IsCube():
		return fmt.Sprintf("%d × %d³", p.Batch, p.N)
	}
	return fmt.Sprintf("%d × (%s)", p.Batch, p.Shape.Label())
}

// Key is the identity of a row or a timeline, except for the parameters.
type Key struct {
	Host       string     `json:"host"`
	Experiment Experiment `json:"experiment"`
	Variant    string     `json:"variant"`
	Build      string     `json:"build,omitempty"` // of the experiment compiler: v1, v3, v1 -B, v3 -B
	Hosts      int        `json:"hosts,omitempty"` // of the ranks, if the job was on several; otherwise 0
	Problem
}

// identity identifies a row or a timeline by what was requested, not by the result.
type identity struct {
	Key
	params string
}

// with returns the identity of a row of k with the parameters as asked.
func (k Key) with(p gemm.Params) identity { return identity{k, p.String()} }

// of returns k on the host.
func (k Key) of(host string) Key {
	k.Host = host
	return k
}

// statuses are all that a row can have.
var statuses = []Status{OK, Wrong, Suspect, Skipped, Unavailable, Timeout, Failed}

// check returns an error unless this program can have written d: no name is empty, the outcomes are
// known, and every number is in its range.
func (d Document) check() error {
	for i, h := range d.Hosts {
		if err := checked(h.ID, "no id", h); err != nil {
			return fmt.Errorf("host %d %w", i+1, err)
		}
		for _, c := range h.Ceilings {
			if !(c.Gflops > 0) {
				return fmt.Errorf("host %d (%s): gflops of a ceiling is %s: it must be above 0", i+1, h.ID, c.Gflops.shown())
			}
		}
		for _, b := range h.Bandwidths {
			if !(b.GBps > 0) {
				return fmt.Errorf("host %d (%s): gbps is %s: it must be above 0", i+1, h.ID, b.GBps.shown())
			}
		}
	}
	for i, v := range d.Variants {
		if v.Name == "" {
			return fmt.Errorf("variant %d has no name", i+1)
		}
	}
	for i, r := range d.Runs {
		if r.ID == "" {
			return fmt.Errorf("run %d has no id", i+1)
		}
	}
	for i, r := range d.Records {
		if err := r.check(); err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
	}
	for i, m := range d.Measurements {
		if err := checked(m.Name, "no name", m); err != nil {
			return fmt.Errorf("measurement %d %w", i+1, err)
		}
	}
	for i, t := range d.Traces {
		if err := checked(t.Variant, "no variant", t); err != nil {
			return fmt.Errorf("timeline %d %w", i+1, err)
		}
	}
	return nil
}

// checked returns an error unless x has a name, and its numbers are in their ranges.
func checked(name, without string, x any) error {
	if name == "" {
		return errors.New("has " + without)
	}
	if err := inRange("", reflect.ValueOf(x)); err != nil {
		return fmt.Errorf("(%s): %w", name, err)
	}
	return nil
}

// check returns an error unless r can be a row.
func (r Record) check() error {
	switch {
	case r.Variant == "":
		return errors.New("it has no variant")
	case r.Type == "":
		return fmt.Errorf("%s has no type", r.Variant)
	case !slices.Contains(statuses, r.Status):
		return fmt.Errorf("%s has the status %q: the statuses are %q", r.Variant, r.Status, statuses)
	}
	if err := inRange("", reflect.ValueOf(r)); err != nil {
		return fmt.Errorf("%s: %w", r.Variant, err)
	}
	if r.CI != nil && !(r.CI[0] <= r.CI[1]) {
		return fmt.Errorf("%s: ci_s is %v: it must begin before it ends", r.Variant, *r.CI)
	}
	switch {
	case r.Count() < len(r.Samples):
		return fmt.Errorf("%s has %d samples, and sampled.count says %d", r.Variant, len(r.Samples), r.Count())
	case r.Status != OK:
	case r.Median == 0:
		return fmt.Errorf("%s: median_s is 0: no product takes no time", r.Variant)
	case !r.Median.Known(): // it was not timed
	case r.Type == "gf256" && !(r.Rate > 0):
		return fmt.Errorf("%s: rate is %s: a row with a time has one above 0", r.Variant, r.Rate.shown())
	case r.Type != "gf256" && !(r.Gflops > 0):
		return fmt.Errorf("%s: gflops is %s: a row with a time has one above 0", r.Variant, r.Gflops.shown())
	case r.Residual > r.Bound:
		return fmt.Errorf("%s is %s, and its residual %v is above its bound %v", r.Variant, OK, r.Residual, r.Bound)
	}
	return nil
}

// limits are the range of a number in records, with both ends. It may also be 0, which is not known, if that is said.
type limits struct {
	least, most float64
	unknown     bool
}

var (
	anything = limits{least: -math.MaxFloat64, most: math.MaxFloat64}
	amount   = limits{most: 1e18} // of bytes, elements, operations
	workers  = limits{most: 1 << 16}
	seconds  = limits{most: 1e9} // 30 years
	moment   = limits{least: -1e9, most: 1e9}
	speed    = limits{least: 1e-12, most: 1e12, unknown: true}
)

// ranges are the ranges of numbers by their names in JSON. A number without a name here is an amount, or in phases_s and
// counters has the range of these.
var ranges = map[string]limits{
	"alpha": anything, "beta": anything, "quartiles": anything, "ci": anything,
	"params": {least: -1e15, most: 1e15}, "resolved": {least: -1e15, most: 1e15},
	"residual": {most: math.MaxFloat64}, "bound": {most: math.MaxFloat64}, "counters": {most: math.MaxFloat64},
	"flops": {most: 1e30}, "accesses": {most: 1e30}, "l1_traffic_bytes": {most: 1e30},
	"l2_traffic_bytes": {most: 1e30}, "traffic_bytes": {most: 1e30}, "workspace_bytes": {most: 1e30},
	"median_s": seconds, "samples_s": seconds, "ci_s": seconds, "phases_s": seconds, "seconds": seconds,
	"begin_s": moment, "end_s": moment, "clock_error_s": seconds, "cut_s": moment,
	"model_s": amount, "model_latency_s": amount, "model_transfer_s": amount, "model_compute_s": amount,
	"gflops": speed, "rate": speed, "data_gbps": speed, "gbps": speed, "ceiling_gflops": speed,
	"percent_peak": {most: 1e9}, "occupancy": {most: 1}, "fill": {most: 1},
	"quota": {least: 1e-3, most: 1 << 16, unknown: true}, "node": {least: -1, most: 1 << 16},
	"threads": workers, "workers": workers, "ranks_used": workers, "rank": workers, "worker": workers, "lane": workers,
	"peer": workers, "cores": workers, "sockets": workers, "numa": workers, "hosts": workers,
	"multiprocessor": workers, "warpgroup": workers, "level": {most: 9},
}

// lists are the names of lists of processors, such as 0-3,8.
var lists = []string{"processors", "usable", "cores", "sets", "cpus"}

// inRange returns an error unless all numbers in v, which has the name in JSON, are in their ranges. NaN is absent.
func inRange(name string, v reflect.Value) error {
	number := math.NaN()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return inRange(name, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := inRange(name, v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if err := inRange(name, v.MapIndex(key)); err != nil {
				return fmt.Errorf("%s of %w", key, err)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			as, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if err := inRange(as, v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.String:
		if list := v.String(); slices.Contains(lists, name) && list != "" && topology.IDs(list) == nil {
			return fmt.Errorf("%s is %.40q: it must be a list of processors below %d", name, list, cpu.Most)
		}
	case reflect.Float64:
		number = v.Float()
	case reflect.Int, reflect.Int64:
		number = float64(v.Int())
	}
	of, ok := ranges[name]
	if !ok {
		of = amount
	}
	if number < of.least && !(of.unknown && number == 0) || number > of.most {
		return fmt.Errorf("%s is %v: it must be from %v to %v", name, number, of.least, of.most)
	}
	return nil
}

// jsonKinds are the names of what a JSON value should be, by the kind that it is read as.
var jsonKinds = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "true or false", reflect.Float64: "a number",
	reflect.Int: "an integer", reflect.Int64: "an integer",
	reflect.Slice: "a list", reflect.Array: "a list", reflect.Struct: "an object", reflect.Map: "an object",
}

// plain returns an error of package json without the names of the types that it reads into.
func plain(err error) error {
	var kind *json.UnmarshalTypeError
	var moment *time.ParseError
	switch {
	case errors.As(err, &kind):
		// Embedded structs are in the path by their names, which are no names of members.
		name := strings.Join(slices.DeleteFunc(strings.Split(kind.Field, "."), func(part string) bool {
			return part != strings.ToLower(part)
		}), ".")
		if name == "" {
			name = "it"
		}
		want, ok := jsonKinds[kind.Type.Kind()]
		if !ok {
			want = "something else"
		}
		if value, number := strings.CutPrefix(kind.Value, "number "); number && want == "a number" {
			return fmt.Errorf("%s is %s: it is beyond the range of numbers", name, value)
		}
		return fmt.Errorf("%s is a JSON %s and should be %s", name, kind.Value, want)
	case errors.As(err, &moment):
		return fmt.Errorf("%s is no time, such as 2026-01-31T12:00:00Z", moment.Value)
	}
	return err
}
