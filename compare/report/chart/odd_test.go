package chart

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// odd are the numbers and words that no chart expects.
var (
	oddNumbers = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e308, -1e308, 1e-308}
	oddWords   = []string{strings.Repeat("w", 1000), "a\x01\x1b[31m\uFFFEb"}
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

// changed returns a copy of the chart in which f has changed some of its numbers.
func changed(ch Chart, f func(at int, number reflect.Value)) Chart {
	if c, ok := ch.(Curve); ok {
		c.Sizes = slices.Clone(c.Sizes) // which Mapped shares
		ch = c
	}
	out := Mapped(ch, label)
	at := 0
	floats(reflect.ValueOf(&out).Elem(), func(number reflect.Value) { f(at, number); at++ })
	return out
}

// TestOddNumbers sets each number of every chart in turn to what it should not be, and then all. Every drawing
// must be well-formed, and not much larger than it is without.
func TestOddNumbers(t *testing.T) {
	each(func(name string, ch Chart) {
		usual, _ := svgOf(t, name, ch)
		numbers := 0
		changed(ch, func(int, reflect.Value) { numbers++ })
		for _, x := range oddNumbers {
			for at := -1; at < numbers; at++ { // −1: all
				bad := changed(ch, func(i int, number reflect.Value) {
					if at < 0 || at == i {
						number.SetFloat(x)
					}
				})
				if svg, _ := svgOf(t, name, bad); len(svg) > 10*len(usual)+1<<18 {
					t.Errorf("%s with number %d of %v: an SVG of %d bytes", name, at, x, len(svg))
				}
				if at >= 0 && (testing.Short() || at%12 > 0) {
					continue
				}
				var pdf bytes.Buffer
				if err := errors.Join(PNG(io.Discard, bad), PDF(&pdf, bad)); err != nil || pdf.Len() > 1<<20 {
					t.Errorf("%s with number %d of %v: a PDF of %d bytes, %v", name, at, x, pdf.Len(), err)
				}
			}
		}
	})
}

// TestOddWords draws every chart with words that are long or have control characters.
func TestOddWords(t *testing.T) {
	each(func(name string, ch Chart) {
		for _, word := range oddWords {
			bad := Mapped(ch, func(string) string { return word })
			_, texts := svgOf(t, name, bad)
			for _, text := range texts {
				if len([]rune(text)) > longest || strings.ContainsAny(text, "\x01\x1b\uFFFE") {
					t.Errorf("%s: the text %.120q", name, text)
				}
			}
			if err := errors.Join(PNG(io.Discard, bad), PDF(io.Discard, bad)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
