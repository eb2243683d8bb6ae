package schedule

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/internal/note"
)

// history has the time of the last case of each variant with its settings, to predict the time of larger cases.
type history map[string]timing

// timing is the time of a case in seconds, and the time that the model of its messages predicted, with its parts for
// latencies and for bytes. The last three are 0 without such a model.
type timing struct {
	c                                 plan.Case
	took, modelled, latency, transfer float64
}

func timingKey(c plan.Case) string {
	return fmt.Sprint(c.Variant.Name, c.Type, c.Op, c.Params, c.Build)
}

func (h history) add(c plan.Case, r record.Record, b plan.Budget) {
	switch {
	case c.Terms() == 0:
	case r.Speed() && r.RanksOnGPUs():
		took := float64(r.Median)
		h[timingKey(c)] = timing{c, took, took, min(took, fixedCostOnGPUs), 0}
	case r.Speed():
		h[timingKey(c)] = timing{c, float64(r.Median), r.ModelSeconds, r.ModelLatency, r.ModelTransfer}
	case r.Status == record.Timeout:
		h[timingKey(c)] = timing{c: c, took: b.Timeout.Seconds()}
	}
}

// fixedCost is the time of a call, in seconds, that may not depend on the size of the product: to wake threads, and to
// launch a kernel.
const fixedCost = 100e-6

// fixedCostOnGPUs is the fixed cost of ranks on GPUs: barriers, and requests to the processes that compute.
const fixedCostOnGPUs = 2e-3

// predict returns the approximate time of a call of a larger case. Latencies remain, bytes grow with the operands, and
// the rest without a fixed cost grows with the operations. Without this cost, 1×1×1 over a network would predict hours
// for n = 1000.
func (l timing) predict(c plan.Case) time.Duration {
	fixed, bytes := min(l.took, fixedCost), 0.0
	if l.modelled > 0 {
		slower := l.took / l.modelled
		fixed, bytes = max(fixed, slower*l.latency), slower*l.transfer
	}
	rest := max(0, l.took-fixed-bytes)
	seconds := fixed + bytes*c.Shape.Elements()/l.c.Shape.Elements() + rest*c.Flops()/l.c.Flops()
	return time.Duration(min(seconds*float64(time.Second), 1<<62))
}

// callTerms is the number of terms up to which Budget.Call does not matter.
const callTerms = 512 * 512 * 512

// refuse returns why a case is not measured: by prediction it needs more memory than is available, or
// more time than a row may take. It returns the zero note if the case may run.
func (s *Schedule) refuse(c plan.Case, now Now) note.Note {
	if need := c.Bytes(); now.Memory > 0 && need > now.Memory {
		return note.New("memory", humanize.IBytes(uint64(need)), humanize.IBytes(uint64(now.Memory)), c.Smaller())
	}
	last, ok := s.history[timingKey(c)]
	if !ok {
		return note.Note{}
	}
	took := last.predict(c)
	switch most := s.rules.Budget; {
	case most.Timeout > 0 && took > most.Timeout:
		return note.New("long-row", took.Round(time.Second).String(), most.Timeout.String())
	case most.Call > 0 && took > most.Call && c.Terms() > callTerms:
		return note.New("long-call", took.Round(10*time.Millisecond).String(), most.Call.String())
	}
	return note.Note{}
}
