package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gemm/internal/cpu"
	"gemm/internal/note"
)

// Distribute adds to the row what the ranks did.
func (r *Record) Distribute(x Distribution) {
	r.Ranks, r.RanksUsed = x.Ranks, x.Used
	r.BytesCounted, r.BytesPredicted, r.BytesBound = x.Counted, x.Predicted, x.Bound
	r.BytesBetween, r.BytesBetweenPredicted = x.CountedBetween, x.PredictedBetween
	r.ModelSeconds, r.ModelLatency = x.Model.Seconds, x.Model.Latency
	r.ModelTransfer, r.ModelCompute = x.Model.Transfer, x.Model.Compute
	r.Warnings = append(r.Warnings, x.Warnings...)
	if each, ok := r.Resolved["threads"].(int); ok {
		r.Threads = each * len(x.Ranks)
	}
}

// outsideGrid returns the number of ranks that are not in the grid of the product. They may have
// helped others of their host. It returns 0 if there is no grid.
func (r Record) outsideGrid() int {
	grid, ok := r.Resolved["grid"].(string)
	if !ok {
		return 0
	}
	inside := 1
	for side := range strings.SplitSeq(grid, "x") {
		n, err := strconv.Atoi(side)
		if err != nil {
			return 0
		}
		inside *= n
	}
	return max(0, len(r.Ranks)-inside)
}

// processorsOf returns the processors that the ranks on each host may use.
func processorsOf(ranks []Rank) map[string][]int {
	out := map[string][]int{}
	for _, x := range ranks {
		out[x.Host] = append(out[x.Host], cpu.ParseList(x.CPUs)...)
	}
	for host, ids := range out {
		out[host] = slices.Compact(slices.Sorted(slices.Values(ids)))
	}
	return out
}

// Oversubscribed returns a warning if the ranks of a row have to share processors, otherwise the zero
// note. h is the host of rank 0.
func (h Host) Oversubscribed(r Record) note.Note {
	ranks, processors := map[string]int{}, processorsOf(r.Ranks) // by host
	for _, x := range r.Ranks {
		ranks[x.Host]++
	}
	for i, x := range r.Ranks {
		n, have := ranks[x.Host], len(processors[x.Host])
		threads := r.Threads / len(r.Ranks) * n
		if threads > have && have > 0 {
			return note.New("oversubscribed", n, threads, have)
		}
		if i == 0 && float64(threads) > float64(h.Quota) {
			return note.New("rank-quota", threads, fmt.Sprintf("%.4g", float64(h.Quota)))
		}
	}
	return note.Note{}
}
