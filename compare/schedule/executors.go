package schedule

import (
	"cmp"
	"slices"

	"gemm/compare/plan"
	"gemm/compare/record"
)

// Executor measures cases: this process, or others.
type Executor struct {
	Kind  Kind
	Count int    // of ranks
	Build string // name of the build
}

// Kind is the kind of an executor.
type Kind string

// The kinds of executors that are other processes.
const (
	Ranks Kind = "ranks"
	GPU   Kind = "gpu"
	Built Kind = "build" // of this program with other compiler options
)

// Here is this process. A program of the user and a library have processes that it starts by itself.
var Here = Executor{}

// Worker is the program that serves a GPU.
const Worker = "gemm-cuda"

// String names the executor as reasons do.
func (p Executor) String() string {
	switch p.Kind {
	case Ranks:
		return "the ranks"
	case GPU:
		return Worker
	case Built:
		return "build " + p.Build
	}
	return "this process"
}

// was returns the name with its verb.
func (p Executor) was() string {
	if p.Kind == Ranks {
		return p.String() + " were"
	}
	return p.String() + " was"
}

// group is what one executor measures in one run.
type group struct {
	executor Executor
	cases    []plan.Case
}

func (r Rules) executor(c plan.Case) Executor {
	switch {
	case r.GPU && c.OnDevice():
		return Executor{Kind: GPU}
	case r.Ranks && c.Ranks() > 0:
		return Executor{Kind: Ranks, Count: c.Ranks()}
	case r.Builds && c.Build != "":
		return Executor{Kind: Built, Build: c.Build}
	}
	return Here
}

// groups divides the cases, in their order, but that neighbours on ranks are sorted by the number of ranks. The cases
// of a GPU come last.
func (r Rules) groups(cases []plan.Case) []group {
	var out []group
	var onGPU []plan.Case
	for _, same := range cut(cases, func(a, b plan.Case) bool { return r.executor(a).Kind == r.executor(b).Kind }) {
		if r.executor(same[0]).Kind == GPU {
			onGPU = append(onGPU, same...)
			continue
		}
		same = slices.Clone(same)
		slices.SortStableFunc(same, func(a, b plan.Case) int { return cmp.Compare(r.executor(a).Count, r.executor(b).Count) })
		for _, one := range cut(same, func(a, b plan.Case) bool {
			return r.executor(a) == r.executor(b) && (r.executor(a) != Here || inOneTurn(a, b))
		}) {
			out = append(out, group{r.executor(one[0]), one})
		}
	}
	if len(onGPU) > 0 {
		out = append(out, group{Executor{Kind: GPU}, onGPU})
	}
	return out
}

// cut cuts the cases before each that does not belong together with the one before it. The
// parts share the memory of cases.
func cut(cases []plan.Case, together func(a, b plan.Case) bool) [][]plan.Case {
	var out [][]plan.Case
	for from, i := 0, 1; from < len(cases); i++ {
		if i == len(cases) || !together(cases[i-1], cases[i]) {
			out = append(out, cases[from:i])
			from = i
		}
	}
	return out
}

// inOneTurn reports whether the samples of the cases are interleaved.
func inOneTurn(a, b plan.Case) bool { return a.Turn != "" && a.Turn == b.Turn }

// Turns cuts cases where a turn ends.
func Turns(cases []plan.Case) [][]plan.Case { return cut(cases, inOneTurn) }

// named returns cases for another process with the names of their turns. A turn that does not fit into memory is
// divided into parts.
func (s *Schedule) named(cases []plan.Case, memory float64) []plan.Case {
	var out []plan.Case
	for _, turn := range Turns(cases) {
		for _, part := range parts(turn, memory) {
			out = append(out, s.freeTurn(part)...)
		}
	}
	return out
}

// freeTurn returns the cases with a name for their turn: its own name, or if that is taken the name
// of a part. Rows with a taken name were not sampled together with these cases.
func (s *Schedule) freeTurn(cases []plan.Case) []plan.Case {
	turn := cases[0].Turn
	if turn == "" {
		return cases
	}
	name := record.FreePart(turn, func(name string) bool { return s.turns[name] })
	s.turns[name] = true
	named := slices.Clone(cases)
	for i := range named {
		named[i].Turn = name
	}
	return named
}

// parts divides the cases of a turn so that the multipliers of each part fit into memory together; have is the
// available memory in bytes, 0 if it is not known. The times of different parts are not compared.
func parts(cases []plan.Case, have float64) [][]plan.Case {
	var out [][]plan.Case
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
func bytesTogether(cases []plan.Case) float64 {
	total := 0.0
	type drawn struct {
		record.Problem
		steps int
	}
	seen := map[drawn]bool{}
	for _, c := range cases {
		total += c.Workspace()
		if of := (drawn{c.Problem, c.Steps()}); !seen[of] {
			seen[of] = true
			total += c.OperandBytes()
		}
	}
	return total
}
