package chapters

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aclements/go-moremath/stats"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Host is the description of one host, of its ceilings and of the runs on it.
func (b *Builder) Host(v *analysis.View) []document.Section {
	machine := b.Of(v, "machine", "machine.title")
	machine.Add(b.machine(v))
	b.Figure(&machine, v, "topology", "fig.topology", b.Program+" info")
	b.ceilings(&machine, v)

	runs := b.Of(v, "runs", "runs.title")
	b.runs(&runs, v)
	b.sampling(&runs, v)
	return []document.Section{machine, runs}
}

// isHalf reports whether a row is of half precision.
func isHalf(r compare.Record) bool { return gemm.TypeNamed(r.Type).IsHalf() }

// Measured is the method: how rows are timed and how they are verified.
func (b *Builder) Measured() document.Section {
	s := b.Section("measured", 2)
	s.Text(b.Say("measured.intro"))
	s.List([]document.Text{
		b.Say("measured.repeat"), b.Say("measured.batch"), b.Say("measured.operands"), b.Say("measured.quiet"),
		b.Say("measured.interval"), b.Say("measured.turns"),
		b.Say("measured.speed"), b.Say("measured.contrast"),
	})
	s.Text(b.Say("verified.intro"))
	checks := []document.Text{b.Say("verified.exact"), b.Say("verified.fresh"), b.Say("verified.float"),
		b.Say("verified.bound")}
	if slices.ContainsFunc(b.Doc.Records, isHalf) {
		checks = append(checks, b.Say("verified.half"))
	}
	s.List(append(checks, b.Say("verified.field")))
	return s
}

// machine is the table of a host's properties.
func (b *Builder) machine(v *analysis.View) document.Table {
	t := document.Table{ID: "table-machine" + v.Suffix, Caption: b.Say("machine.caption"),
		Columns: b.Columns("property", "value")}
	row := func(key string, value document.Text) {
		if value != "" {
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{b.Say(key), value}})
		}
	}
	whole := func(n int) document.Text {
		if n <= 0 {
			return ""
		}
		return document.Text(fmt.Sprint(n))
	}
	row("machine.id", document.Literal(v.ID))
	row("machine.cpu", document.Escape(v.CPU))
	row("machine.sockets", whole(v.Sockets))
	row("machine.numa", whole(v.NUMA))
	row("machine.cores", whole(v.Cores))
	if v.Quota.Known() && v.Quota > 0 {
		row("machine.quota", b.Say("machine.quota.value", text.Args{"Processors": number.Significant(float64(v.Quota))}))
	} else {
		row("machine.quota", b.Say("machine.quota.none"))
	}
	for _, c := range v.Caches {
		kind := b.Say("cache.kind", text.Args{"Level": c.Level, "Kind": b.Word("cache.", c.Kind)})
		value := b.Say("cache.value", text.Args{"Size": number.ByteSize(float64(c.Bytes)), "Line": c.Line})
		if c.Shared > 1 {
			value += b.Say("cache.shared", text.Args{"Processors": c.Shared})
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{kind, value}})
	}
	if v.Held {
		row("machine.isa", b.Say("machine.isa.held", text.Args{"ISA": document.Literal(v.ISA)}))
	} else {
		row("machine.isa", document.Escape(v.ISA))
	}
	if v.Memory > 0 {
		row("machine.memory", document.Text(number.ByteSize(float64(v.Memory))))
	}
	row("machine.pages", document.Escape(v.PagePolicy))
	row("machine.os", document.Escape(v.OS))
	row("machine.gpus", document.Escape(strings.Join(v.GPUs, ", ")))
	row("machine.driver", document.Escape(v.Driver))
	row("machine.cuda", document.Escape(v.CUDA))
	row("machine.mpi", document.Escape(v.MPI))
	return t
}

// ceilings adds the table of measured peaks and bandwidths, or says that there
// are none.
func (b *Builder) ceilings(s *document.Section, v *analysis.View) {
	info := b.Program + " info --peak"
	if len(v.Ceilings) == 0 {
		s.Text(b.Say("ceilings.none", text.Args{"Command": document.Literal(info)}))
	} else {
		s.Text(b.Say("ceilings.intro"))
		if slices.ContainsFunc(v.Records, func(r compare.Record) bool { return isHalf(r) && !analysis.ByGPU(r) }) {
			s.Text(b.Say("ceilings.half"))
		}
		t := document.Table{
			ID: "table-ceilings" + v.Suffix, Caption: b.Say("ceilings.caption"), Command: info,
			Columns: b.Columns("device", "pipe", "isa", "#threads", "#gflops", "#perthread"),
		}
		if slices.ContainsFunc(v.Ceilings, func(c compare.Ceiling) bool { return c.Pipe == "gf256" }) {
			t.Columns = b.Columns("device", "pipe", "isa", "#threads", "#gflopsorgmuls", "#perthread")
		}
		for _, c := range v.Peaks() {
			threads, each := document.Text(number.Absent), document.Text(number.Absent)
			if c.Unit != "gpu" {
				threads, each = document.Text(fmt.Sprint(c.Threads)),
					document.Text(number.Significant(float64(c.Gflops)/float64(c.Threads)))
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Escape(unit(c.Unit, c.Device)), document.Escape(c.Pipe), document.Escape(cmp.Or(c.ISA, number.Absent)),
				threads, document.Text(number.Significant(float64(c.Gflops))), each,
			}})
		}
		s.Add(t)
		if _, ok := v.Pipe("int8"); ok {
			s.Text(b.Say("ceilings.int8"))
		}
	}
	if len(v.Bandwidths) == 0 {
		s.Text(b.Say("bandwidths.none"))
		return
	}
	t := document.Table{
		ID: "table-bandwidths" + v.Suffix, Caption: b.Say("bandwidths.caption"), Command: info,
		Columns: b.Columns("device", "measurement", "#threads", "#gbps"),
	}
	for _, w := range v.Bandwidths {
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
			document.Escape(unit(w.Unit, w.Device)), document.Escape(w.Name), number.Numbered(w.Threads),
			document.Text(number.Significant(float64(w.GBps))),
		}})
	}
	s.Add(t)
}

// unit names what computes or copies: cpu, gpu, and with its number a GPU that is not the first.
func unit(of string, device int) string {
	if device == 0 {
		return of
	}
	return fmt.Sprintf("%s %d", of, device)
}

// Noise says how much times of identical code differ on a host, and how busy it was.
func (b *Builder) Noise(v *analysis.View) document.Text {
	var floors []document.Text
	for _, f := range v.Floors() {
		where, how := "noise.one", "noise.between"
		switch {
		case f.GPU:
			where = "noise.gpu"
		case f.Several:
			where = "noise.several"
		}
		if f.InTurn {
			how = "noise.turn"
		}
		floors = append(floors, b.Say("noise.floor", text.Args{"Factor": number.Significant(f.Factor),
			"Where": b.Say(where), "How": b.Say(how), "Pairs": b.Count("pairs", f.Pairs)}))
	}
	sentence := b.Say("noise.none")
	if len(floors) > 0 {
		sentence = b.Say("noise.floors", text.Args{"Floors": b.Clauses(floors)})
	}
	stolen, load := 0.0, 0.0
	for _, r := range v.All {
		stolen = max(stolen, r.Steal)
	}
	for _, r := range v.Runs {
		load = max(load, r.Load)
	}
	if load > 0 {
		sentence += " " + b.Say("noise.load", text.Args{"Load": number.Significant(load)})
	}
	if stolen > 0 {
		sentence += " " + b.Say("noise.steal", text.Args{"Share": number.Percent(stolen)})
	}
	return sentence
}

// sampling says how many samples the rows have, and what else was measured.
func (b *Builder) sampling(s *document.Section, v *analysis.View) {
	least, most, short := 0, 0, 0
	for _, r := range v.All {
		if !r.Speed() {
			continue
		}
		n := r.Count()
		if least == 0 || n < least {
			least = n
		}
		most = max(most, n)
		if r.CI == nil {
			short++
		}
	}
	switch {
	case most > least:
		s.Text(b.Say("sampling.range", text.Args{"Least": least, "Most": most}))
	case most > 0:
		s.Text(b.Say("sampling.same", text.Args{"Samples": most}))
	}
	if short > 0 {
		s.Add(document.Paragraph{Text: b.Count("sampling.short", short)})
	}
	t := document.Table{
		ID: "table-measurements" + v.Suffix, Caption: b.Say("measurements.caption"),
		Columns: b.Columns("measurement", "params", "#samples", "#median", "unit"),
	}
	for _, m := range v.Measurements {
		if slices.Contains(analysis.OverheadNames, m.Name) || m.Name == analysis.OccupancySweep ||
			m.Name == analysis.PingPong && len(m.Samples) > 0 && v.Distributes() {
			continue // they are in the chapters on sharing work, on distributed memory and on the GPU
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
			document.Escape(m.Name), document.Escape(m.Params.String()), document.Text(fmt.Sprint(m.Count())),
			document.Text(number.Significant(stats.Sample{Xs: m.Samples}.Quantile(0.5))), document.Escape(m.Unit),
		}})
	}
	if len(t.Rows) > 0 {
		s.Add(t)
	}
}

// runs adds the table of the runs, with the versions of the software that they used.
func (b *Builder) runs(s *document.Section, v *analysis.View) {
	if len(v.Runs) == 0 {
		s.Text(b.Say("runs.none"))
		return
	}
	t := document.Table{
		ID: "table-runs" + v.Suffix, Caption: b.Say("runs.caption"),
		Columns: b.Columns("run", "time", "revision", "go", "goamd64", "flags"),
	}
	for _, r := range v.Runs {
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
			document.Literal(r.ID), document.Text(r.Time.UTC().Format("2006-01-02 15:04 UTC")),
			document.Escape(cmp.Or(number.Revision(r.Git), number.Absent)),
			document.Escape(cmp.Or(r.Go, number.Absent)), document.Escape(cmp.Or(r.GOAMD64, number.Absent)),
			document.Escape(cmp.Or(r.Flags, number.Absent)),
		}})
	}
	s.Add(t)
	s.Text(b.Say("runs.commands"))
	var commands []string
	for _, r := range v.Runs {
		for _, command := range r.Commands() {
			if command != "" && !slices.Contains(commands, command) {
				commands = append(commands, command)
			}
		}
	}
	s.Add(document.Code{Text: strings.Join(commands, "\n")})

	versions := map[string][]string{}
	for _, r := range v.Runs {
		for name, version := range r.Libraries {
			if !slices.Contains(versions[name], version) {
				versions[name] = append(versions[name], version)
			}
		}
	}
	if len(versions) == 0 {
		return
	}
	lib := document.Table{ID: "table-libraries" + v.Suffix, Caption: b.Say("libraries.caption"),
		Columns: b.Columns("library", "version")}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		lib.Rows = append(lib.Rows,
			document.Row{Cells: []document.Text{document.Literal(name), document.Escape(strings.Join(versions[name], ", "))}})
	}
	s.Add(lib)
}
