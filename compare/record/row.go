package record

import (
	"slices"
	"strings"

	"gemm"
	"gemm/internal/note"
	"gemm/internal/output"
	"gemm/internal/timeline"
)

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
	Compute  string      `json:"compute"`  // arithmetic used: f64, f32, tf32, f16x3, ozaki, f16, bf16, gf256
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
	// Ceiling is the peak on as many threads, in the unit of Rate, measured between the samples of the row. PercentPeak
	// is relative to it. 0: it was not measured there, and the ceiling of the run is used.
	Ceiling float64 `json:"ceiling_gflops,omitempty"`

	Phases    map[string]float64 `json:"phases_s,omitempty"`
	Residual  Number             `json:"residual"` // normalised; null with a reason if it is not finite
	Bound     Number             `json:"bound"`    // its limit
	BoundKind gemm.BoundKind     `json:"bound_kind"`
	Predicted *Predicted         `json:"predicted,omitempty"`

	// Of the family mpi; Distribution says which bytes are counted.
	Ranks          []Rank  `json:"ranks,omitempty"`
	RanksUsed      int     `json:"ranks_used,omitempty"`
	BytesCounted   int64   `json:"bytes_counted,omitempty"`
	BytesPredicted int64   `json:"bytes_predicted,omitempty"`
	BytesBound     float64 `json:"bytes_bound,omitempty"`
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
	GPU *Device `json:"gpu,omitempty"`

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

// RanksOnGPUs reports whether ranks computed on GPUs: peaks and costs of processors do not hold for them.
func (r Record) RanksOnGPUs() bool {
	return slices.ContainsFunc(r.Ranks, func(x Rank) bool { return x.GPU != nil })
}

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
	// Spans has at most 4000 spans. If there are more chunks, the chunks of a worker with the shortest gaps between
	// them are joined. A joined span goes from the first index of its first chunk to the last of its last chunk,
	// although other workers may have computed some between; it is as long as its chunks together.
	Spans []timeline.Span `json:"spans"`
	// Ranks are the ranks of this product; Record.Ranks has the ranks of a sample. A lane is a rank.
	Ranks []Rank `json:"ranks,omitempty"`
	timeline.Activity
}
