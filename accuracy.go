package gemm

import (
	"maps"

	"gemm/roundoff"
)

// Offer is a way to compute a product, with what it promises.
type Offer struct {
	Variant    string
	Type       Type      // of the elements that it multiplies
	Params     Params    // as requested of the variant
	Kind       BoundKind // what Bound is relative to
	Bound      float64   // the error is at most this, for all operands that have the LeastShare of the bound
	LeastShare float64   // see Bound
	// Time is what offers are compared by: seconds, measured or predicted. Offers sets it to the number of
	// products of a narrower type that take the place of one, and to 1 without them.
	Time float64
}

// Limit returns the limit of the error of a product with resolved parameters in a type of numbers: the bound for
// random operands, or else for all. plain is C = A·B; otherwise the roundings of α·(…), β·C and their sum are added.
func (v Variant) Limit(t Type, s Shape, p Params, plain, random bool) (BoundKind, float64) {
	bound, u := v.BoundWith(t.Name, p), t.SumRoundoff
	limit := bound.Worst
	if random {
		limit = bound.Random
	}
	x := limit(s, p, u)
	if !plain { // the roundings are relative to what the product is at most
		x += roundoff.Gamma(3, u) * (bound.Kind.most(s) + x)
	}
	return bound.Kind, t.Rounded(x)
}

// most is the largest |A||B| in units of what bounds of the kind are relative to.
func (kind BoundKind) most(s Shape) float64 {
	if kind == Normwise {
		return max(1, float64(s.K))
	}
	return 1
}

// Holds reports whether t has all numbers of the other type.
func (t Type) Holds(other Type) bool { return t == other || t == f64 || t == f32 && other.IsHalf() }

// Offers returns v's ways to compute a product in type t with the requested parameters. A parameter that refines the
// product has each of its values, unless it is requested. If t does not hold the operands' type, they are rounded to t
// first; their error is a part of the bound.
func Offers(v Variant, t, operands Type, s Shape, p Params, plain bool) ([]Offer, error) {
	if p == nil {
		p = Params{}
	}
	out := []Offer{{Variant: v.Name, Type: t, Params: p, Time: 1}}
	for _, q := range v.Params {
		if _, requested := p[q.Name]; q.Refines == 0 || requested {
			continue
		}
		out = nil
		for n := q.Refines; n <= q.Max; n++ {
			with := maps.Clone(p)
			with[q.Name] = n
			out = append(out, Offer{Variant: v.Name, Type: t, Params: with, Time: float64(n)})
		}
	}
	for i := range out {
		o := &out[i]
		all, err := v.Resolve(o.Params)
		if err != nil {
			return nil, err
		}
		o.Kind, o.Bound = v.Limit(t, s, all, plain, false)
		o.LeastShare = v.BoundWith(t.Name, all).LeastShare
		if u := t.UnitRoundoff; !t.Holds(operands) {
			both := u * (2 + u) // |x̂ŷ − xy| ≤ (2u + u²)|xy|
			o.Bound = o.Bound*(1+both) + both*o.Kind.most(s)
		}
	}
	return out, nil
}

// Fastest returns the index of the offer with the least Time whose bound is at most accuracy; of equals it is the last,
// since lists of variants go from simple to fast. The error is an ErrUnavailable that says which bound is the least.
func Fastest(offers []Offer, accuracy float64) (int, error) {
	at, least := -1, -1
	for i, o := range offers {
		if o.Bound <= accuracy && (at < 0 || o.Time <= offers[at].Time) {
			at = i
		}
		if o.Bound <= 1 && (least < 0 || o.Bound < offers[least].Bound) {
			least = i
		}
	}
	switch {
	case at >= 0:
		return at, nil
	case least < 0:
		return at, Unavailablef("accuracy %g: no variant here has a bound below 1 for this product", accuracy)
	}
	o := offers[least]
	const up = 1.005 // so that the figure is not rounded down
	return at, Unavailablef("accuracy %g: the best that can be promised here is %.3g (%s), by %s in %s", accuracy,
		up*o.Bound, o.Kind, o, o.Type.Name)
}

// String returns the name of the variant, and the parameters.
func (o Offer) String() string {
	if len(o.Params) == 0 {
		return o.Variant
	}
	return o.Variant + " " + o.Params.String()
}
