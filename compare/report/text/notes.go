package text

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gemm/compare/note"
	"gemm/compare/report/document"
)

// duration is a time as Go prints it, without the space before its unit.
var duration = regexp.MustCompile(`^([0-9.]+)(ns|µs|ms|s)$`)

// Note returns a warning or a reason in the language of s: the message of its code if there is one with its arguments, and
// otherwise its text.
func (s *Speaker) Note(n note.Note) document.Text {
	args, text := Args{}, strings.TrimSuffix(n.Text, ".")
	for name, value := range n.Args {
		plain := fmt.Sprint(value)
		spaced := duration.ReplaceAllString(plain, "$1 $2")
		args[name], text = spaced, strings.ReplaceAll(text, plain, spaced)
	}
	key := "note." + n.Code
	if wanted, ok := s.args[key]; ok && slices.Equal(slices.Sorted(maps.Keys(args)), wanted) {
		return s.Say(key, args)
	}
	return document.Escape(text)
}
