// Package record has the records of measurements: their schema, the store that keeps them on disk, the identity of a
// row, and the telemetry that backends fill.
package record

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"gemm"
)

// Schema is the version of the records that this program writes. A document of
// a newer one is refused. Records of schema 1 say nothing of variants.
const Schema = 2

// OutputSchema is the version of what commands print that are no records.
const OutputSchema = 1

// Document is a set of records with the hosts and runs that they come from.
type Document struct {
	Schema       int           `json:"schema"`
	Variants     []Variant     `json:"variants"` // of the rows
	Hosts        []Host        `json:"hosts"`
	Runs         []RunInfo     `json:"runs"`
	Records      []Record      `json:"records"`
	Measurements []Measurement `json:"measurements"`
	Traces       []Trace       `json:"traces"`
}

// Variant is what a document says of a variant: what it declares, and the names of its element types.
type Variant struct {
	gemm.Variant
	About
	Types []string `json:"types"`
}

// Of returns what records say of v.
func Of(v gemm.Variant) Variant {
	out := Variant{v, aboutOf(v), v.Types()}
	out.Params, out.Model, out.Accepts, out.Ran, out.Source = nil, nil, nil, nil, nil
	out.Bound, out.BoundOf, out.ComputeOf, out.FormerRole, out.Variant.About = gemm.Bound{}, nil, nil, "", nil
	out.F32, out.F64, out.F16, out.BF16, out.GF256 = nil, nil, nil, nil, nil
	return out
}

// Declared returns d with what it does not say of variants as suite has it, in the order of suite: of its own variants,
// which records of schema 1 do not describe, and of variants without rows; and the parents by type, which older records
// lack. Variants of neither come last. Rows of old recursions get the variant that computed them.
func (d Document) Declared(suite []gemm.Variant) Document {
	own := map[string]Variant{}
	for _, v := range d.Variants {
		own[v.Name] = v
	}
	rest := d.Variants
	recursions := map[string]gemm.Variant{}
	d.Variants = nil
	for _, v := range suite {
		of, ok := own[v.Name]
		switch {
		case !ok:
			if of = Of(v); d.Schema == 1 {
				of.Role = cmp.Or(v.FormerRole, of.Role)
			}
		case of.Parents == nil && of.Parent == v.Parent:
			of.Parents = v.Parents
		}
		own[v.Name] = of
		d.Variants = append(d.Variants, own[v.Name])
		if v.Ran != nil {
			recursions[v.Name] = v
		}
	}
	d.Records = slices.Clone(d.Records)
	for i := range d.Records {
		r := &d.Records[i]
		if _, ok := own[r.Variant]; !ok {
			own[r.Variant] = undeclared(r.Variant)
			rest = append(slices.Clip(rest), own[r.Variant])
		}
		if v, ok := recursions[r.Variant]; ok && r.Ran() == "" {
			r.setRan(v)
		}
	}
	for _, v := range rest {
		if !slices.ContainsFunc(suite, func(of gemm.Variant) bool { return of.Name == v.Name }) {
			d.Variants = append(d.Variants, v)
		}
	}
	return d
}

// undeclared is the variant of a row of schema 1 that no suite has: a kernel of the user, by its family, or a rung.
func undeclared(name string) Variant {
	v := gemm.Variant{Name: name}
	if v.Family() == "user" {
		v.Role = gemm.UserKernel
	}
	return Variant{Variant: v}
}

// setRan says which variant computed r, a row of the recursion v, if its cut-off is known and ended it before the
// first division.
func (r *Record) setRan(v gemm.Variant) {
	p, known := gemm.Params{}, false
	for _, q := range v.Params {
		for _, of := range []gemm.Params{r.Params, r.Resolved} {
			if value, ok := of[q.Name]; ok {
				p[q.Name], known = value, known || q.Name == "cutoff"
			}
		}
	}
	if p, err := v.Resolve(p); err == nil && known && v.Ran(r.Shape, p) != "" {
		resolved := gemm.Params{"ran": v.Ran(r.Shape, p)}
		maps.Copy(resolved, r.Resolved)
		r.Resolved = resolved
	}
}

// Number is a float64; NaN means absent. In JSON, which has neither NaN nor infinity, both are null.
type Number float64

// None is the absent Number.
func None() Number { return Number(math.NaN()) }

// Known reports whether x is finite: neither absent nor infinite.
func (x Number) Known() bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// shown is x as JSON has it.
func (x Number) shown() string {
	data, _ := x.MarshalJSON() // null, or a number
	return string(data)
}

// MarshalJSON writes x, or null if it is not finite.
func (x Number) MarshalJSON() ([]byte, error) {
	if !x.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// UnmarshalJSON reads a number, or null as NaN.
func (x *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*x = None()
		return nil
	}
	return json.Unmarshal(data, (*float64)(x))
}
