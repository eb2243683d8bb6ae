package compare

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"gemm/internal/cpu"
)

// party measures cases: this process, or others that it starts.
type party interface {
	// measure stores the rows of the cases. It returns the error of the context or of the store.
	measure(ctx context.Context, d *Driver, cases []Case) error
}

// assignment is what one party measures in one go.
type assignment struct {
	to    party
	cases []Case
}

// assign assigns the cases to parties, in their order. The cases of a device come last.
func (d *Driver) assign(cases []Case) []assignment {
	var out []assignment
	var onDevice []Case
	for _, group := range d.groups(cases) {
		switch first := group[0]; {
		case d.atWorker(first):
			onDevice = append(onDevice, group...)
		case d.onRanks(first):
			for _, n := range ranksOf(group) {
				same := slices.DeleteFunc(slices.Clone(group), func(c Case) bool { return c.Ranks() != n })
				out = append(out, assignment{away{ranks{d.Launch, n}}, same})
			}
		case d.built(first):
			out = append(out, assignment{away{compilation{buildOf(first.Build), d.Build}}, group})
		default:
			out = append(out, assignment{here{}, group})
		}
	}
	if len(onDevice) > 0 {
		out = append(out, assignment{away{worker{d.Worker, d.NoWorker, cmp.Or(d.stop, stopTime)}}, onDevice})
	}
	return out
}

// atWorker reports whether a worker that is started measures the case.
func (d *Driver) atWorker(c Case) bool { return d.Worker != nil && c.OnDevice() }

// onRanks reports whether ranks that are started measure the case.
func (d *Driver) onRanks(c Case) bool { return d.Launch != nil && c.Ranks() > 0 }

// built reports whether a build that is made for it measures the case.
func (d *Driver) built(c Case) bool { return d.Build != nil && c.Build != "" }

// ranksOf returns the numbers of ranks of the cases, ascending.
func ranksOf(cases []Case) []int {
	counts := map[int]bool{}
	for _, c := range cases {
		counts[c.Ranks()] = true
	}
	return slices.Sorted(maps.Keys(counts))
}

// groups divides the cases into those that are measured together: by a worker, on ranks, by one
// build, or in one turn.
func (d *Driver) groups(cases []Case) [][]Case {
	return cut(cases, func(a, b Case) bool {
		switch {
		case d.atWorker(a) || d.atWorker(b):
			return d.atWorker(a) && d.atWorker(b)
		case d.onRanks(a) || d.onRanks(b):
			return d.onRanks(a) && d.onRanks(b)
		case d.built(a) || d.built(b):
			return a.Build == b.Build
		}
		return inOneTurn(a, b)
	})
}

// here is this process as a party.
type here struct{}

// measure implements party. The cases are in one turn, or there is one.
func (here) measure(ctx context.Context, d *Driver, cases []Case) error {
	taken := d.takenTurns()
	for _, part := range parts(cases, float64(cpu.Available())) {
		d.reclaim()
		part = freeTurn(part, taken)
		d.Progress.Begin(part)
		start := time.Now()
		records, traces, err := d.measure(ctx, part)
		if err != nil {
			return err
		}
		if part[0].Turn == "" {
			d.alone = append(d.alone, measured{part[0], time.Since(start)})
		}
		for i, r := range records {
			d.learn(part[i], r)
			d.left += part[i].workspace()
		}
		if err := d.put(records, traces...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// cut cuts the cases before each that does not belong together with the one before it. The
// parts share the memory of cases.
func cut(cases []Case, together func(a, b Case) bool) [][]Case {
	var out [][]Case
	for from, i := 0, 1; from < len(cases); i++ {
		if i == len(cases) || !together(cases[i-1], cases[i]) {
			out = append(out, cases[from:i])
			from = i
		}
	}
	return out
}

// inOneTurn reports whether the samples of the cases are interleaved.
func inOneTurn(a, b Case) bool { return a.Turn != "" && a.Turn == b.Turn }

// turns cuts cases where a turn ends.
func turns(cases []Case) [][]Case { return cut(cases, inOneTurn) }

// turnOf returns the cases that are in one turn with the one at i.
func turnOf(cases []Case, i int) []Case {
	for _, turn := range turns(cases) {
		if i < len(turn) {
			return turn
		}
		i -= len(turn)
	}
	return nil
}

// nameTurns returns cases that another process measures, in turns that are named: those that do
// not fit into memory are in parts.
func (d *Driver) nameTurns(cases []Case) []Case {
	taken := d.takenTurns()
	var named []Case
	for _, turn := range turns(cases) {
		for _, part := range parts(turn, float64(cpu.Available())) {
			named = append(named, freeTurn(part, taken)...)
		}
	}
	return named
}

// takenTurns returns the turns that times of this host in the store have.
func (d *Driver) takenTurns() map[string]bool {
	taken := map[string]bool{}
	for _, r := range d.Store.Document().Records {
		if r.Host == d.host.ID && r.Speed() {
			taken[r.Turn] = true
		}
	}
	return taken
}

// freeTurn returns the cases with a name for their turn: its own name, or if that is taken the name
// of a part. Rows with a taken name were not sampled together with these cases. It adds the name to
// taken.
func freeTurn(cases []Case, taken map[string]bool) []Case {
	turn := cases[0].Turn
	if turn == "" {
		return cases
	}
	name := freePart(turn, func(name string) bool { return taken[name] })
	taken[name] = true
	named := make([]Case, len(cases))
	for i, c := range cases {
		named[i] = c.as(name)
	}
	return named
}

// parts divides the cases of a turn so that the multipliers of each part fit into memory together;
// have is the available memory in bytes, 0 if it is not known. The times of different parts are not
// compared.
func parts(cases []Case, have float64) [][]Case {
	var out [][]Case
	for _, c := range cases {
		last := len(out) - 1
		if last < 0 || have > 0 && bytesTogether(append(slices.Clone(out[last]), c)) > have {
			out = append(out, nil)
			last++
		}
		out[last] = append(out[last], c)
	}
	return out
}

// bytesTogether returns the memory that the cases need at the same time.
func bytesTogether(cases []Case) float64 {
	total := 0.0
	type drawn struct {
		Problem
		steps int
	}
	seen := map[drawn]bool{}
	for _, c := range cases {
		total += c.workspace()
		if of := (drawn{c.Problem, c.chain()}); !seen[of] {
			seen[of] = true
			total += c.operands()
		}
	}
	return total
}
