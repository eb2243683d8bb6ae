package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// counted returns the rows of a type whose bytes were counted.
func (v *view) counted(typ string) []compare.Record {
	return slices.DeleteFunc(v.ofRanksIn(typ), func(r compare.Record) bool { return len(r.Ranks) == 0 })
}

// overLeast returns the bytes counted over the least there can be, NaN where nothing is
// sent: because there is one rank, or one alone has something to compute.
func overLeast(r compare.Record) float64 {
	if !(r.BytesBound > 0) || r.BytesCounted == 0 {
		return math.NaN()
	}
	return float64(r.BytesCounted) / r.BytesBound
}

// held returns the word for where the operands of a variant are.
func (b *builder) held(variant string) document.Text {
	if slices.Contains(spreadVariants, variant) {
		return b.Say("mpi-bytes.ofspread")
	}
	return b.Say("mpi-bytes.ofroot")
}

// bytes is the section on what was sent.
func (b *builder) bytes(v *view) (document.Section, bool) {
	s := b.of(v, "mpi-bytes", "mpi-bytes.title")
	s.Text(b.Say("mpi-bytes.intro"))
	found := false
	for _, typ := range v.typesOf(overRanks) {
		rows := v.counted(typ)
		if len(rows) == 0 {
			continue
		}
		found = true
		command := b.rerun(v, rows)
		t := document.Table{
			ID:      "table-mpi-bytes-" + anchor(typ) + v.suffix,
			Caption: b.Say("mpi-bytes.caption", text.Args{"Type": typ}), Command: command,
			Columns: b.columns("variant", "setting", "size", "#ranks", "operands", "#counted", "#planned", "agree", "#least", "#overleast"),
		}
		wrong := 0
		for _, r := range rows {
			verdict, class := "yes", ""
			if r.BytesCounted != r.BytesPredicted {
				verdict, class = "no", "wrong"
				wrong++
			}
			t.Rows = append(t.Rows, document.Row{Class: class, Cells: append(v.place(r), b.held(r.Variant),
				document.Text(strconv.FormatInt(r.BytesCounted, 10)), document.Text(strconv.FormatInt(r.BytesPredicted, 10)), b.Say(verdict),
				document.Text(strconv.FormatFloat(math.Ceil(r.BytesBound), 'f', 0, 64)), document.Text(significant(overLeast(r))))})
		}
		if wrong > 0 {
			s.Text(b.Say("mpi-bytes.differ", text.Args{"Wrong": wrong, "Rows": len(rows)}))
		} else {
			s.Text(b.Say("mpi-bytes.equal", text.Args{
				"Rows": b.Join([]document.Text{document.Text(typ), b.Count("rows", len(rows))}),
			}))
		}
		var items []document.Text
		for _, kind := range []string{"rooted", "spread"} {
			own := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool {
				return slices.Contains(spreadVariants, r.Variant) != (kind == "spread")
			})
			if least, most, ok := ends(own, overLeast); ok {
				items = append(items, b.Say("mpi-bytes."+kind, text.Args{
					"Least": significant(least.ratio), "LeastRow": b.where(v, least.Record),
					"Most": significant(most.ratio), "MostRow": b.where(v, most.Record),
				}))
			}
		}
		s.List(items)
		b.figure(&s, v, "mpi-bytes-"+typ, "fig.mpi-bytes", command, text.Args{"Type": typ})
		s.Add(t)
	}
	return s, found
}

// portion is what one process needs of A and B, in elements, and computes, in
// operations.
type portion struct{ data, work float64 }

// rowPortion is that of a process with rows of A and all of B, of so many: equations 2
// and 3 of the report of 2024.
func rowPortion(m, n, k, workers int) portion {
	a, b, w := float64(m)*float64(k), float64(k)*float64(n), float64(workers)
	return portion{a/w + b, 2 * a * float64(n) / w}
}

// blockPortion is that of a process of a p×q grid: equations 4 and 5.
func blockPortion(m, n, k, p, q int) portion {
	a, b := float64(m)*float64(k), float64(k)*float64(n)
	return portion{a/float64(p) + b/float64(q), 2 * a * float64(n) / float64(p*q)}
}

// sides reads a grid such as 2x4.
func sides(grid any) (p, q int, ok bool) {
	sentence, _ := grid.(string)
	left, right, _ := strings.Cut(sentence, "x")
	p, errP := strconv.Atoi(left)
	q, errQ := strconv.Atoi(right)
	return p, q, errP == nil && errQ == nil && p > 0 && q > 0
}

// shares is the section on the report's equations, for the grids that were run.
func (b *builder) shares(v *view) (document.Section, bool) {
	s := b.of(v, "mpi-shares", "mpi-shares.title")
	s.Text(b.Say("mpi-shares.intro"))
	found := false
	for _, typ := range v.typesOf(overRanks) {
		t := document.Table{
			ID:      "table-mpi-shares-" + anchor(typ) + v.suffix,
			Caption: b.Say("mpi-shares.caption", text.Args{"Type": typ}),
			Columns: b.columns("size", "#ranks", "#rowsdata1", "#rowswork1", "#rowsdata", "grid", "#blocksdata", "#sharework", "blocksless"),
		}
		var used []compare.Record
		type line struct{ m, n, k, ranks, p, q int }
		seen := map[line]bool{}
		for _, r := range v.ofRanksIn(typ) {
			p, q, ok := sides(r.Resolved["grid"])
			ranks := overRanks.count(r)
			l := line{r.M, r.N, r.K, ranks, p, q}
			if !ok || ranks < 2 || p*q != ranks || slices.Contains(spreadVariants, r.Variant) || seen[l] {
				continue
			}
			seen[l] = true
			used = append(used, r)
			idle, rows, blocks := rowPortion(r.M, r.N, r.K, ranks-1), rowPortion(r.M, r.N, r.K, ranks), blockPortion(r.M, r.N, r.K, p, q)
			less := "no"
			if blocks.data < rows.data {
				less = "yes"
			}
			size := elementBytes(typ)
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Escape(problemOf(r).label()), document.Text(fmt.Sprint(ranks)),
				document.Text(byteSize(size * idle.data)), document.Text(significant(idle.work / 1e9)), document.Text(byteSize(size * rows.data)),
				document.Text(fmt.Sprintf("%d×%d", p, q)), document.Text(byteSize(size * blocks.data)), document.Text(significant(blocks.work / 1e9)), b.Say(less),
			}})
		}
		if len(t.Rows) > 0 {
			found = true
			t.Command = b.rerun(v, used)
			s.Add(t)
		}
	}
	return s, found
}

// overModel returns the time measured over the time predicted, NaN without a prediction.
func overModel(r compare.Record) float64 {
	if !(r.ModelSeconds > 0) {
		return math.NaN()
	}
	return float64(r.Median) / r.ModelSeconds
}

// pingPong is the measurement of messages between two ranks.
const pingPong = "ping-pong"

// network is what messages between two ranks of one launch take.
type network struct {
	ranks   int
	sizes   []int            // bytes, ascending
	rows    []compare.Record // samples and their median, by size
	latency float64          // seconds, of the fit
	each    float64          // seconds a byte, of the fit
	largest float64          // relative error of the fit
}

// networks returns those measured, by the ranks of their launches.
func (v *view) networks() []network {
	var out []network
	for _, m := range v.measurements {
		bytes, ok := m.Params["bytes"].(int)
		ranks, _ := m.Params[overRanks.param].(int)
		if m.Name != pingPong || !ok || len(m.Samples) == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(w network) bool { return w.ranks == ranks })
		if i < 0 {
			i = len(out)
			out = append(out, network{ranks: ranks})
		}
		r := sampledRow(m.Samples)
		if !(r.Median > 0) {
			continue
		}
		j, again := slices.BinarySearch(out[i].sizes, bytes)
		if again {
			out[i].rows[j] = r // the latest stands
			continue
		}
		out[i].sizes, out[i].rows = slices.Insert(out[i].sizes, j, bytes), slices.Insert(out[i].rows, j, r)
	}
	out = slices.DeleteFunc(out, func(w network) bool { return len(w.sizes) < 2 })
	slices.SortFunc(out, func(x, y network) int { return x.ranks - y.ranks })
	for i := range out {
		out[i].fit()
	}
	return out
}

// fit fits the time of a message, latency + bytes·each, neither below 0, by least squares
// of relative errors.
func (w *network) fit() {
	var x, y, weight []float64
	for i, r := range w.rows {
		t := float64(r.Median)
		x, y, weight = append(x, float64(w.sizes[i])), append(y, t), append(weight, 1/(t*t))
	}
	w.latency, w.each = stat.LinearRegression(x, y, weight, false)
	switch {
	case w.latency < 0:
		w.latency, w.each = stat.LinearRegression(x, y, weight, true)
	case w.each < 0:
		w.latency, w.each = 0, 0
		ones := 0.0
		for i, t := range y {
			w.latency, ones = w.latency+t*weight[i], ones+weight[i]
		}
		w.latency /= ones
	}
	for i, t := range y {
		w.largest = max(w.largest, math.Abs(w.time(x[i])/t-1))
	}
}

// time returns what a message takes by the fit.
func (w network) time(bytes float64) float64 { return w.latency + bytes*w.each }

// modelled is the section on predicted times and what they come from.
func (b *builder) modelled(v *view) (document.Section, bool) {
	s := b.of(v, "mpi-model", "mpi-model.title")
	s.Text(b.Say("mpi-model.intro"))
	found := b.networks(&s, v)
	for _, typ := range v.typesOf(overRanks) {
		rows := slices.DeleteFunc(v.ofRanksIn(typ), func(r compare.Record) bool { return math.IsNaN(overModel(r)) })
		if len(rows) == 0 {
			continue
		}
		found = true
		tame := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return v.crowded(r.Threads) })
		if least, most, ok := ends(tame, overModel); ok {
			s.Text(b.Say("mpi-model.range", text.Args{
				"Type": typ, "Least": significant(least.ratio), "LeastRow": b.where(v, least.Record),
				"Most": significant(most.ratio), "MostRow": b.where(v, most.Record),
			}))
		}
		t := document.Table{
			ID:      "table-mpi-model-" + anchor(typ) + v.suffix,
			Caption: b.Say("mpi-model.caption", text.Args{"Type": typ}), Command: b.rerun(v, rows),
			Columns: b.columns("variant", "setting", "size", "#ranks", "#modelled", "#median", "#interval", "#overmodel"),
		}
		for _, r := range rows {
			t.Rows = append(t.Rows, document.Row{Class: v.muted(r), Cells: append(v.place(r),
				document.Text(seconds(r.ModelSeconds)), document.Text(b.median(r)), document.Text(b.ci(r)), document.Text(significant(overModel(r))))})
		}
		s.Add(t)
	}
	return s, found
}

// networks says what messages take, and adds their figure and table.
func (b *builder) networks(s *document.Section, v *view) bool {
	all := v.networks()
	if len(all) == 0 {
		return false
	}
	command := b.rerun(v, v.ofRanks())
	t := document.Table{
		ID: "table-mpi-network" + v.suffix, Caption: b.Say("mpi-network.caption"), Command: command,
		Columns: b.columns("#ranks", "#bytes", "#oneway", "#interval", "#rate", "#fitted"),
	}
	var items []document.Text
	for _, w := range all {
		least, most := 0, len(w.sizes)-1
		rate := func(i int) string { return byteSize(float64(w.sizes[i]) / float64(w.rows[i].Median)) }
		items = append(items, b.Say("mpi-network.fit", text.Args{
			"Ranks": b.Count("ranks", w.ranks), "Latency": seconds(w.latency), "Bandwidth": byteSize(1 / w.each),
			"Error": percent(w.largest), "Small": byteSize(float64(w.sizes[least])),
			"SmallTime": seconds(float64(w.rows[least].Median)), "Large": byteSize(float64(w.sizes[most])),
			"LargeRate": rate(most),
		}))
		for i, r := range w.rows {
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Text(fmt.Sprint(w.ranks)), document.Text(fmt.Sprint(w.sizes[i])), document.Text(b.median(r)), document.Text(b.ci(r)), document.Text(rate(i)), document.Text(seconds(w.time(float64(w.sizes[i])))),
			}})
		}
	}
	s.List(items)
	b.figure(s, v, "mpi-network", "fig.mpi-network", command)
	s.Add(t)
	return true
}
