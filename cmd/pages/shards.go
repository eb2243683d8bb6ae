package main

import (
	"fmt"
	"image/color"
	"slices"

	"gemm/compare/report/chart"
	"gemm/compare/report/number"
)

// coding is a case of gemm rs, which cmd/shard-bench measures: a code and the size of a file.
type coding struct {
	Text    string
	bytes   int
	samples map[string][]float64 // times in seconds, by contender
}

// point returns GiB of the file in a second, by the median, and whether a contender was timed.
func (c coding) point(contender string) (p chart.Point, ok bool) {
	of := func(seconds float64) float64 { return float64(c.bytes) / (1 << 30) / seconds }
	samples := c.samples[contender]
	if len(samples) == 0 {
		return p, false
	}
	return chart.Point{Y: of(median(samples)), Lo: of(slices.Max(samples)), Hi: of(slices.Min(samples))}, true
}

// Rate returns the speed of a contender.
func (c coding) Rate(contender string) string {
	if p, ok := c.point(contender); ok {
		return digits(p.Y)
	}
	return ""
}

// Over returns how many times as long as serial/packed a contender takes, with the range over rounds.
func (c coding) Over(contender string) string {
	own, other := c.samples["serial/packed"], c.samples[contender]
	var rounds []float64
	for i := range min(len(own), len(other)) {
		rounds = append(rounds, other[i]/own[i])
	}
	if rounds == nil {
		return ""
	}
	return spread(median(other)/median(own), rounds)
}

// codings are the cases of a task.
type codings struct {
	Rows              []coding
	Contenders, Peers []string
}

// Codings returns the cases of a task on the first host. A contender is named with its processors if these are not all.
func (r *committed) Codings(task string, peers ...string) codings {
	all := codings{Peers: peers}
	for _, m := range r.Measurements {
		count := func(name string) int { x, _ := m.Params[name].(int); return x }
		if m.Host != r.Hosts[0].ID || m.Name != "rs "+task || len(m.Samples) == 0 {
			continue
		}
		size := number.ByteSize(float64(count("bytes")))
		text := fmt.Sprintf("%d+%d, %s", count("data"), count("parity"), size)
		i := slices.IndexFunc(all.Rows, func(old coding) bool { return old.Text == text })
		if i < 0 {
			i, all.Rows = len(all.Rows), append(all.Rows, coding{text, count("bytes"), map[string][]float64{}})
		}
		contender := fmt.Sprint(m.Params["by"])
		if n := count("processors"); n == 1 {
			contender += ", 1 processor"
		} else if n != r.Hosts[0].Cores {
			contender += fmt.Sprintf(", %d processors", n)
		}
		all.Rows[i].samples[contender] = m.Samples
		if !slices.Contains(all.Contenders, contender) {
			all.Contenders = append(all.Contenders, contender)
		}
	}
	return all
}

// shardSpeed draws the speeds of docs/rs.md: the limit, one processor, all processors, a GPU and the peer.
func (in results) shardSpeed() (chart.Drawing, error) {
	r, err := in.committed("rs-xeon.json.gz")
	if err != nil {
		return chart.Drawing{}, err
	}
	bars := chart.Bars{Title: "File to shards, files in memory", XLabel: "GiB of the file in a second",
		Names:  []string{"copy", "1 processor", fmt.Sprintf("%d processors", r.Hosts[0].Cores), "GPU", "klauspost"},
		Colors: append([]color.RGBA{chart.Mid}, chart.Palette...)}
	for _, c := range r.Codings("encode").Rows {
		g := chart.Group{Label: c.Text}
		for i, label := range []string{"copy", "serial/packed, 1 processor", "serial/packed", "cuda/tuned",
			"klauspost/reedsolomon"} {
			if p, ok := c.point(label); ok {
				g.Bars = append(g.Bars, chart.Bar{Point: p, Color: i})
			}
		}
		bars.Groups = append(bars.Groups, g)
	}
	return chart.Drawing{ID: "rs-speed", Title: "File to shards", Chart: bars}, nil
}
