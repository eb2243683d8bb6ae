package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aclements/go-moremath/stats"

	"gemm/compare"
)

// host is the description of one host, of its ceilings and of the runs on it.
func (b *builder) host(v *view) []Section {
	machine := b.of(v, "machine", "machine.title")
	machine.add(b.machine(v))
	b.ceilings(&machine, v)

	runs := b.of(v, "runs", "runs.title")
	b.runs(&runs, v)
	b.sampling(&runs, v)
	return []Section{machine, runs}
}

// measured is the method: how rows are timed and how they are verified.
func (b *builder) measured() Section {
	s := b.section("measured", 2)
	s.text(b.say("measured.intro"))
	s.list([]Text{
		b.say("measured.repeat"), b.say("measured.batch"), b.say("measured.quiet"),
		b.say("measured.interval"), b.say("measured.turns"),
		b.say("measured.speed"), b.say("measured.contrast"),
	})
	s.text(b.say("verified.intro"))
	s.list([]Text{b.say("verified.exact"), b.say("verified.fresh"), b.say("verified.float"), b.say("verified.bound"), b.say("verified.field")})
	return s
}

// machine is the table of what is known of a host.
func (b *builder) machine(v *view) Table {
	t := Table{ID: "table-machine" + v.suffix, Caption: b.say("machine.caption"), Columns: b.columns("property", "value")}
	row := func(key string, value Text) {
		if value != "" {
			t.Rows = append(t.Rows, Row{Cells: []Text{b.say(key), value}})
		}
	}
	number := func(n int) Text {
		if n <= 0 {
			return ""
		}
		return Text(fmt.Sprint(n))
	}
	row("machine.id", code(v.ID))
	row("machine.cpu", escape(v.CPU))
	row("machine.sockets", number(v.Sockets))
	row("machine.numa", number(v.NUMA))
	row("machine.cores", number(v.Cores))
	if v.Quota.Known() && v.Quota > 0 {
		row("machine.quota", b.say("machine.quota.value", significant(float64(v.Quota))))
	} else {
		row("machine.quota", b.say("machine.quota.none"))
	}
	for _, c := range v.Caches {
		kind := b.say("cache.kind", c.Level, c.Kind)
		value := b.say("cache.value", byteSize(float64(c.Bytes)), c.Line)
		if c.Shared > 1 {
			value += b.say("cache.shared", c.Shared)
		}
		t.Rows = append(t.Rows, Row{Cells: []Text{kind, value}})
	}
	row("machine.isa", escape(v.ISA))
	if v.Memory > 0 {
		row("machine.memory", Text(byteSize(float64(v.Memory))))
	}
	row("machine.pages", escape(v.PagePolicy))
	row("machine.os", escape(v.OS))
	row("machine.gpus", escape(strings.Join(v.GPUs, ", ")))
	row("machine.driver", escape(v.Driver))
	row("machine.cuda", escape(v.CUDA))
	row("machine.mpi", escape(v.MPI))
	return t
}

// ceilings adds the table of measured peaks and bandwidths, or says that there
// are none.
func (b *builder) ceilings(s *Section, v *view) {
	info := b.program + " info --peak"
	if len(v.Ceilings) == 0 {
		s.text(b.say("ceilings.none", code(info)))
	} else {
		s.text(b.say("ceilings.intro"))
		t := Table{
			ID: "table-ceilings" + v.suffix, Caption: b.say("ceilings.caption"), Command: info,
			Columns: b.columns("device", "pipe", "isa", "#threads", "#gflops", "#perthread"),
		}
		if slices.ContainsFunc(v.Ceilings, func(c compare.Ceiling) bool { return c.Pipe == "gf256" }) {
			t.Columns = b.columns("device", "pipe", "isa", "#threads", "#gflopsorgmuls", "#perthread")
		}
		for _, c := range v.Ceilings {
			threads, each := Text(absent), Text(absent)
			if c.Unit != "gpu" {
				threads, each = Text(fmt.Sprint(c.Threads)), Text(significant(float64(c.Gflops)/float64(c.Threads)))
			}
			t.Rows = append(t.Rows, Row{Cells: []Text{
				escape(unit(c.Unit, c.Device)), escape(c.Pipe), escape(cmp.Or(c.ISA, absent)), threads, Text(significant(float64(c.Gflops))), each,
			}})
		}
		s.add(t)
	}
	if len(v.Bandwidths) == 0 {
		s.text(b.say("bandwidths.none"))
		return
	}
	t := Table{
		ID: "table-bandwidths" + v.suffix, Caption: b.say("bandwidths.caption"), Command: info,
		Columns: b.columns("device", "measurement", "#threads", "#gbps"),
	}
	for _, w := range v.Bandwidths {
		t.Rows = append(t.Rows, Row{Cells: []Text{
			escape(unit(w.Unit, w.Device)), escape(w.Name), numbered(w.Threads), Text(significant(float64(w.GBps))),
		}})
	}
	s.add(t)
}

// unit names what computes or copies: cpu, gpu, and with its number a GPU that is not the first.
func unit(of string, device int) string {
	if device == 0 {
		return of
	}
	return fmt.Sprintf("%s %d", of, device)
}

// sampling says how many samples the rows have, and what else was measured.
func (b *builder) sampling(s *Section, v *view) {
	least, most, short := 0, 0, 0
	for _, r := range v.records {
		if !r.Speed() {
			continue
		}
		n := len(r.Samples)
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
		s.text(b.say("sampling.range", least, most))
	case most > 0:
		s.text(b.say("sampling.same", most))
	}
	if short > 0 {
		s.add(Paragraph{b.count("sampling.short", short)})
	}
	t := Table{
		ID: "table-measurements" + v.suffix, Caption: b.say("measurements.caption"),
		Columns: b.columns("measurement", "params", "#samples", "#median", "unit"),
	}
	for _, m := range v.measurements {
		if slices.Contains(overheadNames, m.Name) || m.Name == pingPong && len(m.Samples) > 0 && v.distributes() {
			continue // they are in the chapters on sharing work and on distributed memory
		}
		t.Rows = append(t.Rows, Row{Cells: []Text{
			escape(m.Name), escape(m.Params.String()), Text(fmt.Sprint(len(m.Samples))),
			Text(significant(stats.Sample{Xs: m.Samples}.Quantile(0.5))), escape(m.Unit),
		}})
	}
	if len(t.Rows) > 0 {
		s.add(t)
	}
}

// runs adds the table of the runs and of the versions of what they used.
func (b *builder) runs(s *Section, v *view) {
	if len(v.runs) == 0 {
		s.text(b.say("runs.none"))
		return
	}
	t := Table{
		ID: "table-runs" + v.suffix, Caption: b.say("runs.caption"),
		Columns: b.columns("run", "time", "revision", "go", "goamd64", "flags"),
	}
	for _, r := range v.runs {
		t.Rows = append(t.Rows, Row{Cells: []Text{
			code(r.ID), Text(r.Time.UTC().Format("2006-01-02 15:04 UTC")), escape(cmp.Or(revision(r.Git), absent)),
			escape(cmp.Or(r.Go, absent)), escape(cmp.Or(r.GOAMD64, absent)), escape(cmp.Or(r.Flags, absent)),
		}})
	}
	s.add(t)
	s.text(b.say("runs.commands"))
	var commands []string
	for _, r := range v.runs {
		if r.Command != "" && !slices.Contains(commands, r.Command) {
			commands = append(commands, r.Command)
		}
	}
	s.add(Code{strings.Join(commands, "\n")})

	versions := map[string][]string{}
	for _, r := range v.runs {
		for name, version := range r.Libraries {
			if !slices.Contains(versions[name], version) {
				versions[name] = append(versions[name], version)
			}
		}
	}
	if len(versions) == 0 {
		return
	}
	lib := Table{ID: "table-libraries" + v.suffix, Caption: b.say("libraries.caption"), Columns: b.columns("library", "version")}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		lib.Rows = append(lib.Rows, Row{Cells: []Text{code(name), escape(strings.Join(versions[name], ", "))}})
	}
	s.add(lib)
}

// timed returns the rows that have a speed.
func timed(rows []compare.Record) []compare.Record {
	var out []compare.Record
	for _, r := range rows {
		if r.Speed() {
			out = append(out, r)
		}
	}
	return out
}
