package analysis

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"gemm/compare"
)

// Counted returns the rows of a type whose bytes were counted.
func (v *View) Counted(typ string) []compare.Record {
	return slices.DeleteFunc(v.OfRanksIn(typ), func(r compare.Record) bool { return len(r.Ranks) == 0 })
}

// OverLeast returns the ratio of the counted bytes to the lower bound. It is NaN if nothing is
// sent: there is one rank, or only one rank has something to compute.
func OverLeast(r compare.Record) float64 {
	if !(r.BytesBound > 0) || r.BytesCounted == 0 {
		return math.NaN()
	}
	return float64(r.BytesCounted) / r.BytesBound
}

// portion is what one process needs of A and B, in elements, and computes, in
// operations.
type portion struct{ Data, Work float64 }

// RowPortion is the portion of one of the given number of processes, each with rows of A and all of
// B, as the course report of 2024 counts.
func RowPortion(m, n, k, workers int) portion {
	a, b, w := float64(m)*float64(k), float64(k)*float64(n), float64(workers)
	return portion{a/w + b, 2 * a * float64(n) / w}
}

// BlockPortion is the portion of a process of a p×q grid.
func BlockPortion(m, n, k, p, q int) portion {
	a, b := float64(m)*float64(k), float64(k)*float64(n)
	return portion{a/float64(p) + b/float64(q), 2 * a * float64(n) / float64(p*q)}
}

// Sides reads a grid such as 2x4.
func Sides(grid any) (p, q int, ok bool) {
	sentence, _ := grid.(string)
	left, right, _ := strings.Cut(sentence, "x")
	p, errP := strconv.Atoi(left)
	q, errQ := strconv.Atoi(right)
	return p, q, errP == nil && errQ == nil && p > 0 && q > 0
}

// OverModel returns the time measured over the time predicted, NaN without a prediction.
func OverModel(r compare.Record) float64 {
	if !(r.ModelSeconds > 0) {
		return math.NaN()
	}
	return float64(r.Median) / r.ModelSeconds
}

// PingPong is the measurement of messages between two ranks.
const PingPong = "ping-pong"

// Network is what messages between the ranks of one launch take.
type Network struct {
	Ranks   int
	Path    string           // inside a host or between hosts; empty in old records
	Pairs   string           // which pairs of ranks send at the same time: one, all, all both ways
	Sizes   []int            // bytes, ascending
	Rows    []compare.Record // samples and their median, by size
	Latency float64          // seconds, of the fit
	Each    float64          // seconds a byte, of the fit
	Largest float64          // relative error of the fit
}

// Networks returns those measured, by the ranks of their launches.
func (v *View) Networks() []Network {
	var out []Network
	for _, m := range v.Measurements {
		bytes, ok := m.Params["bytes"].(int)
		ranks, _ := m.Params[OverRanks.Param].(int)
		if m.Name != PingPong || !ok || len(m.Samples) == 0 {
			continue
		}
		path, _ := m.Params["path"].(string)
		pairs, _ := m.Params["pairs"].(string)
		i := slices.IndexFunc(out, func(w Network) bool {
			return w.Ranks == ranks && w.Path == path && w.Pairs == pairs
		})
		if i < 0 {
			i = len(out)
			out = append(out, Network{Ranks: ranks, Path: path, Pairs: pairs})
		}
		r := sampledRow(m)
		if !(r.Median > 0) {
			continue
		}
		j, again := slices.BinarySearch(out[i].Sizes, bytes)
		if again {
			out[i].Rows[j] = r // the latest stands
			continue
		}
		out[i].Sizes, out[i].Rows = slices.Insert(out[i].Sizes, j, bytes), slices.Insert(out[i].Rows, j, r)
	}
	out = slices.DeleteFunc(out, func(w Network) bool { return len(w.Sizes) < 2 })
	slices.SortStableFunc(out, func(x, y Network) int { return x.Ranks - y.Ranks })
	for i := range out {
		out[i].Fit()
	}
	return out
}

// Fit fits the time of a message, latency + bytes·each, neither below 0, by least squares
// of relative errors.
func (w *Network) Fit() {
	var x, y, weight []float64
	for i, r := range w.Rows {
		t := float64(r.Median)
		x, y, weight = append(x, float64(w.Sizes[i])), append(y, t), append(weight, 1/(t*t))
	}
	w.Latency, w.Each = stat.LinearRegression(x, y, weight, false)
	switch {
	case w.Latency < 0:
		w.Latency, w.Each = stat.LinearRegression(x, y, weight, true)
	case w.Each < 0:
		w.Latency, w.Each = 0, 0
		ones := 0.0
		for i, t := range y {
			w.Latency, ones = w.Latency+t*weight[i], ones+weight[i]
		}
		w.Latency /= ones
	}
	for i, t := range y {
		w.Largest = max(w.Largest, math.Abs(w.Time(x[i])/t-1))
	}
}

// Time returns what a message takes by the fit.
func (w Network) Time(bytes float64) float64 { return w.Latency + bytes*w.Each }
