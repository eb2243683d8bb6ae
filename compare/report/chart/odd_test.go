package chart

import (
	"bytes"
	"image/png"
	"math"
	"reflect"
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
	out := reflect.New(reflect.TypeFor[Chart]()).Elem()
	out.Set(reflect.ValueOf(Mapped(copied(ch), label)))
	at := 0
	floats(out, func(number reflect.Value) { f(at, number); at++ })
	return out.Interface().(Chart)
}

// copied returns a copy of a chart that shares no numbers with it.
func copied(ch Chart) Chart {
	v := reflect.ValueOf(ch)
	var deep func(v reflect.Value) reflect.Value
	deep = func(v reflect.Value) reflect.Value {
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		switch {
		case v.Kind() == reflect.Slice && !v.IsNil():
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(deep(v.Index(i)))
			}
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				out.Field(i).Set(deep(v.Field(i)))
			}
		case v.Kind() == reflect.Interface && !v.IsNil():
			out.Set(deep(v.Elem()))
		}
		return out
	}
	return deep(v).Interface().(Chart)
}

// TestOddNumbers sets each number of every kind of chart in turn to what it should not be, and then all. Every drawing
// must be well-formed, and not much larger than it is without.
func TestOddNumbers(t *testing.T) {
	for name, ch := range charts {
		var usual bytes.Buffer
		if err := SVG(&usual, ch, ""); err != nil {
			t.Fatal(err)
		}
		numbers := 0
		changed(ch, func(int, reflect.Value) { numbers++ })
		for _, x := range oddNumbers {
			for at := -1; at < numbers; at++ { // −1: all
				bad := changed(ch, func(i int, number reflect.Value) {
					if at < 0 || at == i {
						number.SetFloat(x)
					}
				})
				var svg bytes.Buffer
				if err := SVG(&svg, bad, ""); err != nil {
					t.Fatal(err)
				}
				checkSVG(t, name, svg.Bytes())
				if svg.Len() > 10*usual.Len()+1<<18 {
					t.Errorf("%s with number %d of %v: an SVG of %d bytes", name, at, x, svg.Len())
				}
				if at >= 0 && (testing.Short() || at%12 > 0) {
					continue
				}
				var image, pdf bytes.Buffer
				if err := PNG(&image, bad); err != nil {
					t.Fatal(err)
				}
				if _, err := png.DecodeConfig(&image); err != nil {
					t.Error(err)
				}
				if err := PDF(&pdf, bad); err != nil || pdf.Len() > 1<<20 {
					t.Errorf("%s with number %d of %v: a PDF of %d bytes, %v", name, at, x, pdf.Len(), err)
				}
			}
		}
	}
}

// TestOddWords draws every kind of chart with words that are long or have control characters.
func TestOddWords(t *testing.T) {
	for name, ch := range charts {
		for _, word := range oddWords {
			bad := Mapped(ch, func(string) string { return word })
			var svg, image, pdf bytes.Buffer
			if err := SVG(&svg, bad, word); err != nil {
				t.Fatal(err)
			}
			for _, text := range checkSVG(t, name, svg.Bytes()) {
				if len([]rune(text)) > longest && text != word || strings.ContainsAny(text, "\x01\x1b\uFFFE") {
					t.Errorf("%s: the text %.120q", name, text)
				}
			}
			if PNG(&image, bad) != nil || PDF(&pdf, bad) != nil {
				t.Errorf("%s: not drawn", name)
			}
		}
	}
}
