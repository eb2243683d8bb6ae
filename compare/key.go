package compare

import (
	"fmt"

	"gemm"
)

// Problem is an operation on operands as they are stored: what several variants compute.
type Problem struct {
	Type  string  `json:"type"` // f32, f64, gf256
	Op    string  `json:"op"`   // nn, nt, tn, tt: how A and B are stored
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
	gemm.Shape
	LDA int `json:"lda"`
	LDB int `json:"ldb"`
	LDC int `json:"ldc"`
}

// String returns all that p consists of.
func (p Problem) String() string {
	return fmt.Sprint(p.Type, " ", p.Shape, " ", p.Op, " ", p.Alpha, " ", p.Beta, " ", p.LDA, ",", p.LDB, ",", p.LDC)
}

// Key is what was asked for of a row or a timeline, but for the parameters.
type Key struct {
	Host       string     `json:"host"`
	Experiment Experiment `json:"experiment"`
	Variant    string     `json:"variant"`
	Build      string     `json:"build,omitempty"` // of the experiment compiler: v1, v3, v1 -B, v3 -B
	Problem
}

// identity is what tells rows, or timelines, from one another: what was asked for, not how it
// came out.
type identity struct {
	Key
	params string
}

// with returns the identity of a row of k with the parameters as asked.
func (k Key) with(p gemm.Params) identity { return identity{k, p.String()} }

// of returns k on the host.
func (k Key) of(host string) Key {
	k.Host = host
	return k
}
