// Package note has the warnings and reasons of rows: a code, its arguments, and the English text. The texts stand in
// notes.yaml alone.
package note

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// The codes that decide something. All others are in notes.yaml.
const (
	Spread     = "spread"      // the interval of the median is wide
	NoTimeline = "no-timeline" // one was requested
)

//go:embed notes.yaml
var file []byte

// form is a note as notes.yaml has it.
type form struct {
	code, text string
	args       []string       // in the order of the text
	whole      *regexp.Regexp // matches a text of the note, with a group for each argument
}

var argument = regexp.MustCompile(`\{(\w+)\}`)

// forms are the notes, in the order of the file.
var forms = sync.OnceValue(func() []form {
	var document yaml.Node
	if err := yaml.Unmarshal(file, &document); err != nil {
		panic(fmt.Sprintf("note: notes.yaml: %v", err)) // of this program
	}
	var out []form
	for pair := range slices.Chunk(document.Content[0].Content, 2) {
		f := form{code: pair[0].Value, text: pair[1].Value}
		pattern := regexp.QuoteMeta(f.text)
		for _, place := range argument.FindAllStringSubmatch(f.text, -1) {
			f.args = append(f.args, place[1])
			pattern = strings.Replace(pattern, regexp.QuoteMeta(place[0]), "(.+)", 1)
		}
		f.whole = regexp.MustCompile("^" + pattern + "$")
		out = append(out, f)
	}
	return out
})

// New returns the note of a code. Its arguments are given in the order of the text. It panics if there is no such
// code, or if it has another number of arguments.
func New(code string, args ...any) Note {
	i := slices.IndexFunc(forms(), func(f form) bool { return f.code == code })
	if i < 0 || len(forms()[i].args) != len(args) {
		panic(fmt.Sprintf("note: %s with %d arguments is not in notes.yaml", code, len(args)))
	}
	f := forms()[i]
	n := Note{Code: code, Text: f.text}
	for i, name := range f.args {
		if n.Args == nil {
			n.Args = map[string]any{}
		}
		n.Args[name] = args[i]
		n.Text = strings.Replace(n.Text, "{"+name+"}", fmt.Sprint(args[i]), 1)
	}
	return n
}

// Read returns the note of a text. It has a code if the whole text is the text of a code. Read is for errors, for
// what other processes say, and for records of the first schema.
func Read(text string) Note {
	for _, f := range forms() {
		if found := f.whole.FindStringSubmatch(text); found != nil {
			args := make([]any, len(f.args))
			for i := range args {
				args[i] = found[i+1]
			}
			n := New(f.code, args...)
			n.Text = text // an argument may look like another one
			return n
		}
	}
	return Note{Text: text}
}

// Note is a warning or a reason in a record. Code identifies it, for programs and for
// reports in other languages. Args are its arguments by name. Text is the English text; a note without a code has only
// this.
type Note struct {
	Code string         `json:"code,omitempty"`
	Args map[string]any `json:"args,omitempty"`
	Text string         `json:"text"`
}

// String returns the text.
func (n Note) String() string { return n.Text }

// Unsuited is the error of a product that a variant is not made for. Its row is skipped.
type Unsuited struct{ Reason string }

// Error implements error.
func (u Unsuited) Error() string { return u.Reason }

// Wrong is the error of a product with a wrong result.
type Wrong struct{ Reason string }

// Error implements error.
func (w Wrong) Error() string { return w.Reason }

// Suspect is the error of a product whose time cannot be true.
type Suspect struct{ Reason string }

// Error implements error.
func (s Suspect) Error() string { return s.Reason }
