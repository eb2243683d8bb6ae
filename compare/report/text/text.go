// Package text has the sentences of reports, in one file for each language. A sentence has a key, and
// arguments with names, so each language can order them as it needs. Sentences with a number have
// the plural forms of the language.
package text

import (
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"github.com/nicksnyder/go-i18n/v2/i18n/template"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"

	"gemm/compare/report/document"
)

// Languages are the languages of reports.
var Languages = []string{"en", "zh"}

//go:embed en.yaml zh.yaml
var files embed.FS

// Args are the arguments of a message by name. A document.Text is inserted as
// markup; everything else is data, and what in it looks like markup is escaped.
type Args map[string]any

// catalog is the messages of all languages.
type catalog struct {
	bundle *i18n.Bundle
	args   map[string]map[string][]string // names of arguments, by language and key
}

// loaded returns the catalog. The files are part of the program: an error in one
// is an error of the program.
var loaded = sync.OnceValue(func() catalog {
	c := catalog{bundle: i18n.NewBundle(language.English), args: map[string]map[string][]string{}}
	c.bundle.RegisterUnmarshalFunc("yaml", yaml.Unmarshal)
	for _, lang := range Languages {
		file, err := c.bundle.LoadMessageFileFS(files, lang+".yaml")
		if err != nil {
			panic(fmt.Sprintf("text: %s.yaml: %v", lang, err))
		}
		c.args[lang] = map[string][]string{}
		for _, m := range file.Messages {
			c.args[lang][m.ID] = argsIn(m.One + m.Other)
		}
	}
	return c
})

var argument = regexp.MustCompile(`\{\{\.(\w+)\}\}`)

// argsIn returns the names of the arguments of a message, sorted.
func argsIn(message string) []string {
	names := map[string]bool{}
	for _, m := range argument.FindAllStringSubmatch(message, -1) {
		names[m[1]] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// templates reads a message once, and fails where an argument is missing.
var templates = &template.TextParser{Option: "missingkey=error"}

// Speaker says messages in one language.
type Speaker struct {
	lang      string
	localizer *i18n.Localizer
	args      map[string][]string
	said      map[string]bool
}

// In returns a speaker of a language, one of Languages.
func In(lang string) *Speaker {
	c := loaded()
	if c.args[lang] == nil {
		panic(fmt.Sprintf("text: no language %q; there are %s", lang, strings.Join(Languages, " and ")))
	}
	return &Speaker{lang: lang, localizer: i18n.NewLocalizer(c.bundle, lang), args: c.args[lang], said: map[string]bool{}}
}

// Keys returns the keys of all messages in a language, sorted.
func Keys(lang string) []string { return slices.Sorted(maps.Keys(loaded().args[lang])) }

// Lang returns the language of s.
func (s *Speaker) Lang() string { return s.lang }

// Said returns the keys of the messages said so far.
func (s *Speaker) Said() map[string]bool { return s.said }

// Say returns the message called key with its arguments, as markup. It panics
// unless the message exists and has just these arguments.
func (s *Speaker) Say(key string, args ...Args) document.Text {
	return document.Text(s.fill(key, nil, args, func(data string) string { return string(document.Escape(data)) }))
}

// Plain returns a message without markup, for titles and alternative texts.
func (s *Speaker) Plain(key string, args ...Args) string {
	return s.fill(key, nil, args, func(data string) string { return data })
}

// Count returns a message about n things, as markup, in the plural form for n. Its
// argument is called Count.
func (s *Speaker) Count(key string, n int) document.Text {
	return document.Text(s.fill(key, n, []Args{{"Count": n}}, func(data string) string { return data }))
}

// fill returns a message in the plural form for count, which may be nil.
func (s *Speaker) fill(key string, count any, args []Args, escape func(string) string) string {
	filled := map[string]any{}
	for _, given := range args {
		for name, value := range given {
			if data, ok := value.(string); ok {
				value = escape(data)
			}
			filled[name] = value
		}
	}
	wanted, ok := s.args[key]
	if !ok {
		panic(fmt.Sprintf("text: there is no message %s in %s", key, s.lang))
	}
	if given := slices.Sorted(maps.Keys(filled)); !slices.Equal(given, wanted) {
		panic(fmt.Sprintf("text: message %s in %s has the arguments %v, not %v", key, s.lang, wanted, given))
	}
	message, err := s.localizer.Localize(&i18n.LocalizeConfig{
		MessageID: key, TemplateData: filled, PluralCount: count, TemplateParser: templates,
	})
	if err != nil {
		panic(fmt.Sprintf("text: message %s in %s: %v", key, s.lang, err))
	}
	s.said[key] = true
	return message
}

// Has reports whether there is a message called key.
func (s *Speaker) Has(key string) bool {
	_, ok := s.args[key]
	return ok
}

// Word returns the message for a value of a record, or the value itself if there is no message.
func (s *Speaker) Word(prefix, value string) document.Text {
	if !s.Has(prefix + value) {
		return document.Escape(value)
	}
	return s.Say(prefix + value)
}

// Join returns texts with the language's comma between them.
func (s *Speaker) Join(texts []document.Text) document.Text {
	return document.Join(texts, s.Say("comma"))
}

// Clauses returns texts with the language's semicolon between them.
func (s *Speaker) Clauses(texts []document.Text) document.Text {
	return document.Join(texts, s.Say("semicolon"))
}

// Sentence returns texts as clauses of one sentence.
func (s *Speaker) Sentence(texts []document.Text) document.Text {
	return s.Clauses(texts) + s.Say("stop")
}

// Names returns names of variants as literal text, joined.
func (s *Speaker) Names(variants []string) document.Text {
	texts := make([]document.Text, len(variants))
	for i, v := range variants {
		texts[i] = document.Literal(v)
	}
	return s.Join(texts)
}
