package chart

import (
	"reflect"
	"strings"
	"unicode"
)

// Mapped returns a copy of x in which every string is what f makes of it.
func Mapped[T any](x T, f func(string) string) T {
	v := reflect.ValueOf(&x).Elem()
	v.Set(mapped(v, f))
	return x
}

// mapped is Mapped for any value. What has no strings is shared with v.
func mapped(v reflect.Value, f func(string) string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch kind := v.Kind(); {
	case kind == reflect.String:
		out.SetString(f(v.String()))
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(mapped(v.Field(i), f))
			}
		}
	case kind == reflect.Interface && !v.IsNil():
		out.Set(mapped(v.Elem(), f))
	case kind == reflect.Pointer && !v.IsNil():
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(mapped(v.Elem(), f))
	case kind == reflect.Slice && !v.IsNil() && v.Type().Elem().Kind() != reflect.Float64:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(mapped(v.Index(i), f))
		}
	case kind == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMap(v.Type()))
		for _, key := range v.MapKeys() {
			out.SetMapIndex(mapped(key, f), mapped(v.MapIndex(key), f))
		}
	}
	return out
}

// Printable returns s with a question mark in place of each character that is none in print or in XML: of control
// characters but new lines and tabs, and of what is no Unicode.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\uFFFE' || r == '\uFFFF' {
			return '?'
		}
		return r
	}, s)
}

// longest is the number of characters of a label that a figure has room for.
const longest = 80

// label returns s as a figure has it: in print, and cut.
func label(s string) string {
	s = Printable(s)
	if runes := []rune(s); len(runes) > longest {
		s = string(runes[:longest-3]) + "..."
	}
	return s
}
