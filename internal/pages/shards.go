package pages

import (
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/chart"
)

// shardRecords are the records of gemm rs, which internal/shard/bench writes.
var shardRecords = []string{"rs-xeon.json.gz"}

// The document with their tables, and its figure.
const (
	shardPage   = "docs/rs.md"
	shardFigure = "rs-speed"
)

// timing is how long a contender took for a case, in seconds.
type timing struct {
	by         string
	processors int
	samples    []float64
}

// label names a contender.
func (t timing) label(all int) string {
	switch {
	case t.processors != all && t.processors == 1:
		return t.by + ", 1 processor"
	case t.processors != all:
		return fmt.Sprintf("%s, %d processors", t.by, t.processors)
	}
	return t.by
}

// coding is a case: a task, a code and the size of a file.
type coding struct {
	task               string
	data, parity, size int
	timings            []timing
}

// rate returns GiB of the file in a second, by the median.
func (c coding) rate(t timing) chart.Point {
	of := func(seconds float64) float64 { return float64(c.size) / (1 << 30) / seconds }
	return chart.Point{Y: of(median(t.samples)), Lo: of(slices.Max(t.samples)), Hi: of(slices.Min(t.samples))}
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// named returns the timing of a contender, nil if it has none.
func (c coding) named(by string, processors int) *timing {
	for i, t := range c.timings {
		if t.by == by && t.processors == processors {
			return &c.timings[i]
		}
	}
	return nil
}

// text names the case.
func (c coding) text() string {
	size := fmt.Sprintf("%d MiB", c.size>>20)
	if c.size >= 1<<30 {
		size = fmt.Sprintf("%g GiB", float64(c.size)/(1<<30))
	}
	return fmt.Sprintf("%d+%d, %s", c.data, c.parity, size)
}

// codings returns the cases of a task in the order of the record. Contenders without samples are left out.
func codings(doc compare.Document, host, task string) (list []coding) {
	for _, m := range doc.Measurements {
		number := func(name string) int { x, _ := m.Params[name].(int); return x }
		if m.Host != host || m.Name != "rs "+task || len(m.Samples) == 0 {
			continue
		}
		c := coding{task: task, data: number("data"), parity: number("parity"), size: number("bytes")}
		i := slices.IndexFunc(list, func(old coding) bool { return old.text() == c.text() })
		if i < 0 {
			i, list = len(list), append(list, c)
		}
		by, _ := m.Params["by"].(string)
		list[i].timings = append(list[i].timings, timing{by, number("processors"), m.Samples})
	}
	return list
}

// ratio returns how many times as long other takes as own, with the range over rounds.
func ratio(own, other *timing) string {
	if own == nil || other == nil {
		return "—"
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range min(len(own.samples), len(other.samples)) {
		x := other.samples[i] / own.samples[i]
		lo, hi = min(lo, x), max(hi, x)
	}
	return fmt.Sprintf("%s (%s–%s)", digits(median(other.samples)/median(own.samples)), digits(lo), digits(hi))
}

// shardTable returns the table of a task. The ratio is that of a peer to one of ours.
func shardTable(list []coding, cores int, own, peer string) string {
	var names []string
	for _, c := range list {
		for _, t := range c.timings {
			if !slices.Contains(names, t.label(cores)) {
				names = append(names, t.label(cores))
			}
		}
	}
	head := append([]string{"code, file"}, names...)
	head = append(head, fmt.Sprintf("time of %s ÷ time of %s", peer, own))
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|---%s|\n", strings.Join(head, " | "), strings.Repeat("|---:", len(head)-1))
	for _, c := range list {
		cells := []string{c.text()}
		for _, name := range names {
			cell := "—"
			for _, t := range c.timings {
				if t.label(cores) == name {
					cell = digits(c.rate(t).Y)
				}
			}
			cells = append(cells, cell)
		}
		cells = append(cells, ratio(c.named(own, cores), c.named(peer, cores)))
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// renderShards writes the tables and the figure of docs/rs.md.
func renderShards(root string) error {
	doc, err := load(root, shardRecords)
	if err != nil {
		return err
	}
	var b strings.Builder
	for i, h := range doc.Hosts {
		on := processor(h) + fmt.Sprintf(", %d processors", h.Cores)
		if len(h.GPUs) > 0 {
			on += "; " + strings.Join(h.GPUs, ", ")
		}
		encode, protect := codings(doc, h.ID, "encode"), codings(doc, h.ID, "protect")
		run := doc.Runs[i]
		fmt.Fprintf(&b, "%s; %s, revision `%s`, [results/%s](../results/%s):\n\n", on,
			run.Time.UTC().Format("2006-01-02"),
			run.Git[:min(len(run.Git), 8)], shardRecords[i], shardRecords[i])
		fmt.Fprintf(&b, "```sh needs=record\n%s\n```\n\n", run.Command)
		fmt.Fprintf(&b, "`encode`, GiB of the file in a second:\n\n%s\n", shardTable(encode, h.Cores, "serial/packed",
			"klauspost/reedsolomon"))
		fmt.Fprintf(&b, "`protect`, GiB of the file in a second:\n\n%s\n", shardTable(protect, h.Cores, "serial/packed",
			"par2"))
		if i == 0 {
			d := chart.Drawing{ID: shardFigure, Title: "File to shards", Chart: shardBars(encode, h.Cores)}
			if err := writeFigure(filepath.Join(root, "docs", "drawings", d.ID+".svg"), d); err != nil {
				return err
			}
			fmt.Fprintf(&b, "![File to shards, GiB/s](drawings/%s.svg)\n", d.ID)
		}
	}
	return replace(root, shardPage, tableBegin, tableEnd, strings.TrimSpace(b.String())+"\n")
}

// shardBars draws the speeds of cases: the limit, one processor, all processors, a GPU and the peer.
func shardBars(list []coding, cores int) chart.Bars {
	bars := chart.Bars{Title: "File to shards, files in memory", XLabel: "GiB of the file in a second", Rates: true,
		Names:  []string{"copy", "1 processor", fmt.Sprintf("%d processors", cores), "GPU", "klauspost"},
		Colors: append([]color.RGBA{chart.Mid}, chart.Palette...)}
	for _, c := range list {
		g := chart.Group{Label: c.text()}
		for i, t := range []*timing{c.named("copy", cores), c.named("serial/packed", 1),
			c.named("serial/packed", cores),
			c.named("cuda/tuned", cores), c.named("klauspost/reedsolomon", cores)} {
			if t != nil {
				g.Bars = append(g.Bars, chart.Bar{Point: c.rate(*t), Color: i})
			}
		}
		bars.Groups = append(bars.Groups, g)
	}
	return bars
}
