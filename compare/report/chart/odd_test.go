package chart

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"testing"
)

// floats calls f with each number in v, which can be set.
func floats(v reflect.Value, f func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Float64:
		f(v)
	case reflect.Slice:
		for i := range v.Len() {
			floats(v.Index(i), f)
		}
	case reflect.Struct:
		if _, ok := v.Interface().(Look); ok {
			return
		}
		for i := range v.NumField() {
			floats(v.Field(i), f)
		}
	case reflect.Interface:
		inner := reflect.New(v.Elem().Type()).Elem()
		inner.Set(v.Elem())
		floats(inner, f)
		v.Set(inner)
	}
}

// TestOddNumbers sets all numbers of every chart to what they should not be, and then each alone as SVG. Every drawing
// must be well-formed, and not much larger than it is without.
func TestOddNumbers(t *testing.T) {
	each(func(name string, ch Chart) {
		usual, _ := svgOf(t, name, ch)
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e308, -1e308, 1e-308} {
			numbers := 1
			for at := -1; at < numbers; at++ { // −1: all
				if c, ok := ch.(Curve); ok {
					c.Sizes = slices.Clone(c.Sizes) // which Mapped shares
					ch = c
				}
				bad := Mapped(ch, label)
				numbers = 0
				floats(reflect.ValueOf(&bad).Elem(), func(number reflect.Value) {
					if at < 0 || at == numbers {
						number.SetFloat(x)
					}
					numbers++
				})
				if svg, _ := svgOf(t, name, bad); len(svg) > 10*len(usual)+1<<18 {
					t.Errorf("%s with number %d of %v: an SVG of %d bytes", name, at, x, len(svg))
				}
				if at >= 0 {
					continue
				}
				var pdf bytes.Buffer
				if err := errors.Join(Drawing{Chart: bad}.PNG(io.Discard), Drawing{Chart: bad}.PDF(&pdf)); err != nil ||
					pdf.Len() > 1<<20 {
					t.Errorf("%s with %v: a PDF of %d bytes, %v", name, x, pdf.Len(), err)
				}
			}
		}
	})
}
