// Package analysis has the numbers of reports: what rows can be compared, what comparisons
// show, and what models and laws predict. It has no words; chapters and figures put words and
// marks to its results.
package analysis

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
)

// shellWord matches a word of a command as it is written, in quotes if it has blanks.
var shellWord = regexp.MustCompile(`(?:\$'(?:[^'\\]|\\.)*'|'[^']*'|\\.|[^\s'])+`)

// Asked returns the given flags, with their values, that the run of the first row had on its
// command line.
func (v *View) Asked(rows []compare.Record, flags ...string) []string {
	i := slices.IndexFunc(v.Runs, func(run compare.RunInfo) bool { return run.ID == rows[0].Run })
	if i < 0 {
		return nil
	}
	words := shellWord.FindAllString(v.Runs[i].Command, -1)
	var out []string
	for _, flag := range flags {
		for j, word := range words {
			if value, joined := strings.CutPrefix(word, "--"+flag+"="); joined {
				out = append(out, "--"+flag, value)
			} else if word == "--"+flag && j+1 < len(words) {
				out = append(out, word, words[j+1])
			}
		}
	}
	return out
}

// HasFamily reports whether there are rows of a family, or of kernels of the user that are in its
// chapter.
func (v *View) HasFamily(fam string) bool {
	return slices.ContainsFunc(v.All, func(r compare.Record) bool { return Home(r) == fam })
}

// Granted returns the number of processors that a product may use on this host: the usable ones, or
// fewer if the quota is lower.
func (v *View) Granted() float64 {
	if v.Quota.Known() {
		return min(float64(v.Cores), float64(v.Quota))
	}
	return float64(v.Cores)
}

// IsCrowded reports whether the given threads cannot run on the host at the same time. It returns
// false if the number of processors is not known.
func (v *View) IsCrowded(threads int) bool { return v.Cores > 0 && v.Crowded(threads).Text != "" }

// Crowds reports whether the threads of a row cannot run at the same time. Of ranks on several hosts, it
// looks at the host with the most. The others are taken to have as many processors as the first.
func (v *View) Crowds(r compare.Record) bool {
	threads := r.Threads
	if hosts := RanksOfHosts(r); len(hosts) > 1 {
		threads = threads / len(r.Ranks) * slices.Max(hosts)
	}
	return v.IsCrowded(threads)
}

// Trait describes, like Setting, the parameters that tell rows of a variant apart. For the family
// mpi, whose rows have many parameters, these are the ones that are not the same in all rows.
func (v *View) Trait(variant string, p gemm.Params) string {
	if Family(variant) != OverRanks.Family {
		return Setting(p)
	}
	alike, known := v.alike[variant]
	if !known {
		rows := v.Pick(func(r compare.Record) bool { return r.Variant == variant })
		alike = Constants(rows, OverRanks.Param)
		maps.DeleteFunc(alike, func(name string, _ any) bool {
			return slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Params[name] == nil })
		})
		v.alike[variant] = alike
	}
	text := Setting(Omit(p, append(slices.Collect(maps.Keys(alike)), OverRanks.Param)...))
	if alike["threads"] == nil && p["threads"] != nil {
		text = strings.TrimSpace(fmt.Sprintf("%s threads=%v", text, p["threads"]))
	}
	return text
}

// View is what one host contributed to a document. Rows are compared within a
// view only.
type View struct {
	compare.Host
	Suffix       string // of anchors: empty, or "-" and the host's id if there are several
	Runs         []compare.RunInfo
	Records      []compare.Record  // without times of products that another variant computed: see Ran
	All          []compare.Record  // with them: for tables of all rows
	Variants     []compare.Variant // of the document, in report order
	Measurements []compare.Measurement
	traces       []compare.Trace
	peaks        compare.Peaks          // of all hosts
	chunkTests   map[string][]Bout      // by type: thousands of tests, and read twice
	alike        map[string]gemm.Params // by variant of the family mpi: what its rows share
}

// Views splits a document by host, in the document's order. A host that rows
// name but that is not described has only its id.
func Views(doc compare.Document) []*View {
	doc = doc.Settled().Declared(nil)
	peaks := doc.Peaks()
	declared := map[string]*compare.Variant{}
	for i, of := range doc.Variants {
		declared[of.Name] = &doc.Variants[i]
	}
	var list []*View
	byID := map[string]*View{}
	at := func(id string) *View {
		v := byID[id]
		if v == nil {
			v = &View{Host: compare.Host{ID: id}, Variants: doc.Variants, peaks: peaks, chunkTests: map[string][]Bout{},
				alike: map[string]gemm.Params{}}
			byID[id] = v
			list = append(list, v)
		}
		return v
	}
	for _, h := range doc.Hosts {
		at(h.ID).Host = h
	}
	for _, r := range doc.Runs {
		v := at(r.Host)
		v.Runs = append(v.Runs, r)
	}
	for _, r := range doc.Records {
		v := at(r.Host)
		r.Of = declared[r.Variant]
		v.All = append(v.All, r)
	}
	for _, m := range doc.Measurements {
		v := at(m.Host)
		v.Measurements = append(v.Measurements, m)
	}
	for _, t := range doc.Traces {
		v := at(t.Host)
		v.traces = append(v.traces, t)
	}
	for _, v := range list {
		v.setNoise()
		v.Records = v.PickAll(func(r compare.Record) bool { return RanItself(r) || !r.Speed() })
		if len(list) > 1 {
			v.Suffix = "-" + Anchor(v.ID)
		}
	}
	return list
}

// Pick returns the rows of the view that keep says to keep, without those that another variant computed.
func (v *View) Pick(keep func(compare.Record) bool) []compare.Record { return picked(v.Records, keep) }

// PickAll returns them with those that another variant computed.
func (v *View) PickAll(keep func(compare.Record) bool) []compare.Record { return picked(v.All, keep) }

// Ladder returns the rows of the experiment ladder of one type.
func (v *View) Ladder(typ string) []compare.Record { return v.Pick(inLadder(typ)) }

// WholeLadder returns them with those that another variant computed.
func (v *View) WholeLadder(typ string) []compare.Record { return picked(v.All, inLadder(typ)) }

func inLadder(typ string) func(compare.Record) bool {
	return func(r compare.Record) bool { return r.Experiment == compare.MainLadder && r.Type == typ }
}

// Ceiling returns the measured peak of a type at a number of busy threads.
func (v *View) Ceiling(typ string, threads int) (compare.Ceiling, bool) {
	return v.peaks.Of(v.ID, compare.Ceiling{Unit: "cpu", Pipe: gemm.TypeNamed(typ).Pipe(), Threads: threads})
}

// Percent returns the speed of a row in percent of the peak, NaN if it is not known: see compare.Peaks.
func Percent(r compare.Record) float64 { return Known(r, r.PercentPeak) }

// WholeShare is Percent of a product that begins and ends in the memory of the host.
func WholeShare(r compare.Record) float64 {
	return Percent(r) * float64(r.Median) / Whole(r)
}

// Bandwidth returns the measured triad at a number of busy threads, the highest
// where several runs measured it.
func (v *View) Bandwidth(threads int) (compare.Bandwidth, bool) {
	var highest compare.Bandwidth
	for _, w := range v.Bandwidths {
		if w.Unit == "cpu" && w.Name == "triad" && w.Threads == threads && w.GBps.Known() && w.GBps > highest.GBps {
			highest = w
		}
	}
	return highest, highest.GBps > 0
}
