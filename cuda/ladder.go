// Package cuda is the ladder of matrix products on an NVIDIA GPU: how a rung computes a product, and the resources
// that it needs. Package kernels has the rungs, package ladder says what they are, package nvrtc compiles them, and
// package occupancy computes how many blocks run at the same time. Nothing in this package needs a GPU.
package cuda

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"gemm"
	"gemm/cuda/kernels"
	"gemm/cuda/ladder"
	"gemm/cuda/nvrtc"
)

// Rung is a step of the ladder in one element type.
type Rung struct {
	ladder.Rung
	constants func() kernels.Constants // of its source
}

// What a rung is made of.
type (
	Tile    = ladder.Tile
	Widths  = ladder.Widths
	Product = ladder.Product
	Access  = ladder.Access
)

// NoPad is the Pad of a tile whose rows of a slice lie one behind the other.
const NoPad = ladder.NoPad

// rungs has the rungs of all element types, each type in its order.
var rungs = func() []Rung {
	var out []Rung
	for _, r := range kernels.Order {
		types := []string{r.Type}
		if r.Type == "half" {
			types = []string{"f16", "bf16"}
		}
		for _, typ := range types {
			r := Rung{Rung: r.In(typ)}
			r.constants = sync.OnceValue(func() kernels.Constants { return kernels.ConstantsOf(r.source()) })
			out = append(out, r)
		}
	}
	return out
}()

func (r Rung) source() string {
	_, text, err := kernels.Source(r.Type, r.Name)
	if err != nil {
		panic(err) // it is a part of the program
	}
	return text
}

// macros returns the macros of the kernel for copies of the given widths. Those that are 0 are left out: the kernel has
// defaults.
func (r Rung) macros(t Tile, w Widths) []ladder.Macro {
	var out []ladder.Macro
	for _, m := range t.Macros() {
		if m.Value != 0 && (!r.AtLaunch || m.Name == "TN") {
			m.Value = max(m.Value, 0) // NoPad
			out = append(out, m)
		}
	}
	if r.Copies {
		out = append(out, ladder.Macro{Name: "VA", Value: w.A}, ladder.Macro{Name: "VB", Value: w.B},
			ladder.Macro{Name: "VC", Value: w.C})
	}
	return out
}

// Program returns the kernel as it is compiled for a compute capability.
func (r Rung) Program(t Tile, w Widths, arch int) nvrtc.Program {
	p := nvrtc.Program{Name: r.Name + ".cu", Source: r.source(), Arch: arch, Exact: r.Exact}
	for _, m := range r.macros(t, w) {
		p.Options = append(p.Options, fmt.Sprintf("-D%s=%d", m.Name, m.Value))
	}
	if r.Type == "bf16" {
		p.Options = append(p.Options, "-DBF16")
	}
	return p
}

// RungNamed returns a rung of an element type.
func RungNamed(name, typ string) (Rung, error) {
	i := slices.IndexFunc(rungs, func(r Rung) bool { return r.Name == name && r.Type == typ })
	if i < 0 {
		return Rung{}, fmt.Errorf("%w: cuda/%s has no %s", gemm.ErrType, name, typ)
	}
	return rungs[i], nil
}

// ParentRung returns the rung that r changes; the first rung of a type may have none.
func (r Rung) ParentRung() (Rung, bool) {
	if r.Parent == "" {
		mine := Ladder(r.Type)
		i := slices.IndexFunc(mine, func(o Rung) bool { return o.Name == r.Name }) - 1
		if i < 0 {
			return Rung{}, false
		}
		return mine[i], true
	}
	typ, name, ok := strings.Cut(r.Parent, "/")
	if !ok {
		typ, name = r.Type, r.Parent
	}
	parent, err := RungNamed(name, typ)
	return parent, err == nil
}

// Ladder returns the rungs of an element type in their order.
func Ladder(typ string) []Rung {
	return slices.DeleteFunc(slices.Clone(rungs), func(r Rung) bool { return r.Type != typ })
}
