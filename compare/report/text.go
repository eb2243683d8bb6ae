package report

import (
	"fmt"
	"strings"

	"gemm/compare"
	"gemm/compare/report/document"
)

// phrase is one sentence or label in each language. Verbs are numbered where
// the languages differ in order; "one|many" is chosen by count.
type phrase struct{ en, zh string }

// in returns the phrase in a language.
func (p phrase) in(lang string) string {
	if lang == "zh" {
		return p.zh
	}
	return p.en
}

// Languages are the languages of reports.
var Languages = []string{"en", "zh"}

// speaker says phrases in one language.
type speaker struct {
	lang string
	said map[string]bool // the phrases said so far
}

// format returns the format of the phrase called key. It panics where there is
// none: the keys are constants of this package.
func (s *speaker) format(key string) string {
	p, ok := phrases[key]
	if !ok {
		panic("report: no phrase " + key)
	}
	s.said[key] = true
	return p.in(s.lang)
}

// say returns a phrase as markup. Arguments that are Text are markup; all others
// are data, and what in them looks like markup is escaped.
func (s *speaker) say(key string, args ...any) document.Text {
	return document.Text(fill(s.format(key), args, true))
}

// plain returns a phrase without markup, for titles and alternative texts.
func (s *speaker) plain(key string, args ...any) string {
	return fill(s.format(key), args, false)
}

// count returns a phrase about n things, as markup.
func (s *speaker) count(key string, n int) document.Text {
	one, many, two := strings.Cut(s.format(key), "|")
	if two && n != 1 {
		one = many
	}
	return document.Text(fmt.Sprintf(one, n))
}

func fill(format string, args []any, markup bool) string {
	if len(args) == 0 {
		return strings.ReplaceAll(format, "%%", "%")
	}
	filled := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case string:
			filled[i] = a
			if markup {
				filled[i] = string(document.Escape(a))
			}
		case document.Text:
			filled[i] = string(a)
		default:
			filled[i] = a
		}
	}
	return fmt.Sprintf(format, filled...)
}

// join returns texts with the language's comma between them.
func (s *speaker) join(texts []document.Text) document.Text { return joined(texts, s.format("comma")) }

// clauses returns texts as one sentence, semicolons between them.
func (s *speaker) clauses(texts []document.Text) document.Text {
	return joined(texts, s.format("semicolon")) + s.say("stop")
}

func joined(texts []document.Text, mark string) document.Text {
	parts := make([]string, len(texts))
	for i, t := range texts {
		parts[i] = string(t)
	}
	return document.Text(strings.Join(parts, mark))
}

// names returns variants as literal text, joined.
func (s *speaker) names(variants []string) document.Text {
	texts := make([]document.Text, len(variants))
	for i, v := range variants {
		texts[i] = document.Literal(v)
	}
	return s.join(texts)
}

// sizes returns points as "n = 64, 128" for cubes, followed by the other shapes.
func (s *speaker) sizes(ps []problem) document.Text {
	var cubes, others []document.Text
	for _, p := range ps {
		if p.cube() && p.label() == fmt.Sprint(p.n) {
			cubes = append(cubes, document.Text(fmt.Sprint(p.n)))
		} else {
			others = append(others, document.Escape(p.label()))
		}
	}
	if len(cubes) > 0 {
		cubes[0] = "n = " + cubes[0]
	}
	return s.join(append(cubes, others...))
}

// status returns the word for the outcome of a row.
func (s *speaker) status(status compare.Status) document.Text {
	return s.word("status.", string(status))
}

// word returns the phrase for a value that records have, or the value itself
// where it is not one that this package knows.
func (s *speaker) word(prefix, value string) document.Text {
	if _, known := phrases[prefix+value]; !known {
		return document.Escape(value)
	}
	return s.say(prefix + value)
}
