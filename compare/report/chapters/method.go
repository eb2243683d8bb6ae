package chapters

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Host is the description of one host and of the runs on it.
func (b *Builder) Host(v *analysis.View) []document.Section {
	machine := b.Of(v, "machine", "machine.title")
	machine.Add(b.machine(v))
	runs := b.Of(v, "runs", "runs.title")
	b.runs(&runs, v)
	return []document.Section{machine, runs}
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
