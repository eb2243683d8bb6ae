package text

import (
	"regexp"
	"strings"

	"gemm/compare/report/document"
)

// notePrefix begins the keys of the notes that records have.
const notePrefix = "note."

// note recognizes a note of a record by its English message.
type note struct {
	key  string
	form *regexp.Regexp // a group for each argument
}

// noteOf returns the note with the English message.
func noteOf(key, english string) note {
	var form strings.Builder
	rest := english
	for _, place := range argument.FindAllStringSubmatch(english, -1) {
		before, after, _ := strings.Cut(rest, place[0])
		form.WriteString(regexp.QuoteMeta(before) + "(?P<" + place[1] + ">.+)")
		rest = after
	}
	return note{key, regexp.MustCompile("^" + form.String() + regexp.QuoteMeta(rest) + "$")}
}

// duration is a time as Go prints it, without the space before its unit.
var duration = regexp.MustCompile(`^([0-9.]+)(ns|µs|ms|s)$`)

// Note returns a note of a record, a warning or a reason, in the language of s. Records have notes
// in English. A note without a message stays as it is.
func (s *Speaker) Note(text string) document.Text {
	for _, n := range loaded().notes {
		found := n.form.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		args := Args{}
		for i, name := range n.form.SubexpNames()[1:] {
			args[name] = duration.ReplaceAllString(found[i+1], "$1 $2")
		}
		return s.Say(n.key, args)
	}
	return document.Escape(text)
}
