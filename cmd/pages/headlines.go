package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/page"
	"gemm/internal/sample"
)

// headline is a row of the table of headline results in docs/performance.md. It shows the speed of a variant at one
// shape, and its ratios to others over all shapes that both were timed at in one turn.
type headline struct {
	Text      map[string]string // what is multiplied, by language
	Brief     bool              // whether the READMEs show it too
	Record    string
	contender `yaml:",inline"`
	Shape     string // whose speed is shown
	Over      [2]int // the least and the largest n of the ratios; cubes are compared if Shape is one, else others
	ISA       string // of the host, if the record has several; empty: any
	Others    []contender
}

// contender is the rows of one variant. What others do not say is as in the headline.
type contender struct {
	Name, Zh string // Zh is the name in Chinese if it is another
	Variant  string
	Compute  string // arithmetic of the fastest GPU kernel for use, which stands for a variant
	Type     string
	Threads  int // busy threads or ranks; 0: any
}

type cells struct {
	Text, Speed, Share, Hardware, Day, Record string
	Ratios                                    []page.Text
}

// headlines returns the rows of docs/performance.md, or the few of the READMEs.
func headlines(brief bool) []headline {
	return slices.DeleteFunc(decoded[[]headline]("headlines.yaml"), func(h headline) bool { return brief && !h.Brief })
}

func (in results) headlines(brief bool, lang string) (rows []cells, err error) {
	for _, h := range headlines(brief) {
		r, err := in.committed(h.Record)
		if err != nil {
			return nil, err
		}
		row, err := h.cells(r.Document, lang)
		if err != nil {
			return nil, fmt.Errorf("results/%s: %w", h.Record, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// matches reports whether r is a timed row of c with the settings that it has by default, on any number of executors.
func (h headline) matches(doc record.Document, r record.Record, c contender) bool {
	if r.Variant != c.Variant || r.Type != c.Type || !r.Speed() || r.Op != "nn" {
		return false
	}
	if r.Experiment != record.MainLadder && r.Experiment != record.StrongScaling {
		return false
	}
	for name := range r.Params {
		if name != "threads" && name != "ranks" && name != "devices" {
			return false
		}
	}
	other := func(host record.Host) bool { return host.ID == r.Host && host.ISA != h.ISA }
	if h.ISA != "" && slices.ContainsFunc(doc.Hosts, other) {
		return false
	}
	return c.Threads == 0 || r.Threads == c.Threads || r.Params["ranks"] == float64(c.Threads) || r.RanksUsed == c.Threads
}

// kernel returns the fastest GPU kernel for use in the arithmetic of the headline.
func (h headline) kernel(doc record.Document, shape gemm.Shape) string {
	r, _ := analysis.MinBy(doc.Records, func(r record.Record) float64 {
		forUse := func(v record.Variant) bool {
			return v.Name == r.Variant && v.Role == gemm.Production && v.Location == gemm.OnGPU
		}
		if r.Compute == h.Compute && r.Shape == shape && slices.ContainsFunc(doc.Variants, forUse) &&
			h.matches(doc, r, contender{Variant: r.Variant, Type: h.Type}) {
			return float64(r.Median)
		}
		return math.NaN()
	})
	return r.Variant
}

// cells computes the row from its record.
func (h headline) cells(doc record.Document, lang string) (cells, error) {
	out := cells{Text: h.Text[lang], Record: h.Record}
	shape, err := gemm.ParseShape(h.Shape)
	if err != nil {
		return cells{}, err
	}
	if h.Compute != "" {
		h.Variant = h.kernel(doc, shape)
	}
	ratios := make([][]float64, len(h.Others))
	for _, r := range doc.Records {
		if !h.matches(doc, r, h.contender) || r.IsCube() != shape.IsCube() || r.N < h.Over[0] || r.N > h.Over[1] {
			continue
		}
		if r.Shape == shape {
			out.Speed, out.Share = speed(r), share(r)
			out.Hardware, out.Day = where(doc, r)
		}
		for i, o := range h.Others {
			o.Type, o.Threads = cmp.Or(o.Type, h.Type), cmp.Or(o.Threads, h.Threads)
			if peer, ok := analysis.Find(doc.Records, func(peer record.Record) bool {
				return peer.Shape == r.Shape && peer.Turn == r.Turn && peer.Host == r.Host && h.matches(doc, peer, o)
			}); ok {
				ratios[i] = append(ratios[i], float64(peer.Median)/float64(r.Median))
			}
		}
	}
	if out.Speed == "" {
		return cells{}, fmt.Errorf("there is no row of %s at %s", h.Variant, h.Shape)
	}
	for i, o := range h.Others {
		if len(ratios[i]) == 0 {
			return cells{}, fmt.Errorf("there is no row of %s next to %s", o.Variant, h.Variant)
		}
		name := o.Name
		if lang == "zh" {
			name = cmp.Or(o.Zh, o.Name)
		}
		out.Ratios = append(out.Ratios, page.Escape(name+" "+spread(mean(ratios[i]), ratios[i])))
	}
	return out, nil
}

func mean(ratios []float64) float64 { return stat.GeometricMean(ratios, nil) }

func median(x []float64) float64 { return sample.Summarize(x).Median }

// spread returns a ratio for a list and, if it has several, the lowest and the highest.
func spread(x float64, list []float64) string {
	text := digits(x)
	if len(list) > 1 {
		text += fmt.Sprintf(" (%s–%s)", digits(slices.Min(list)), digits(slices.Max(list)))
	}
	return text
}

// digits returns a ratio with two digits behind the point, or one from 10 on.
func digits(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

func speed(r record.Record) string {
	x, unit := float64(r.Gflops), "GFLOP/s"
	if r.Type == "gf256" {
		x, unit = float64(r.DataGBps), "GB/s"
	}
	switch {
	case unit == "GFLOP/s" && x >= 10000:
		return fmt.Sprintf("%.1f TFLOP/s", x/1000)
	case x >= 100:
		return fmt.Sprintf("%.0f %s", x, unit)
	}
	return fmt.Sprintf("%.1f %s", x, unit)
}

// share returns the part of the measured peak that a row reaches, a dash if it is not known.
func share(r record.Record) string {
	if !r.PercentPeak.Known() || r.Type == "gf256" {
		return "—"
	}
	return fmt.Sprintf("%.0f %%", float64(r.PercentPeak))
}

// where names the hardware and the day of a row.
func where(doc record.Document, r record.Record) (hardware, day string) {
	h, _ := analysis.Find(doc.Hosts, func(h record.Host) bool { return h.ID == r.Host })
	run, _ := analysis.Find(doc.Runs, func(run record.RunInfo) bool { return run.ID == r.Run })
	if strings.HasPrefix(r.Variant, "cuda/") && len(h.GPUs) > 0 {
		return h.GPUs[0], dayOf(run)
	}
	return processor(h), dayOf(run)
}

func processor(h record.Host) string {
	h.GPUs = nil
	return strings.TrimSuffix(h.Name()+", "+h.ISA, ", ") // python -m gemm_suite.sgemm does not know the set
}

func dayOf(run record.RunInfo) string { return run.Time.UTC().Format("2006-01-02") }
