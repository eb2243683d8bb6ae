package pages

import "embed"

//go:embed texts/introduction.md
var introductionText string

//go:embed texts/index.md
var indexText string

//go:embed texts/full.en.md
var fullEnglish string

//go:embed texts/full.zh.md
var fullChinese string

//go:embed texts/counterparts.en.md
var counterpartsEnglish string

//go:embed texts/counterparts.zh.md
var counterpartsChinese string

//go:embed texts/headlines.en.md
var headlinesEnglish string

//go:embed texts/headlines.zh.md
var headlinesChinese string

// notes say what a reader should know of the records of a topic: notes/<topic>.md.
//
//go:embed texts/notes
var notes embed.FS

// note returns the note on a topic, empty if there is none.
func note(topic string) string {
	text, err := notes.ReadFile("texts/notes/" + topic + ".md")
	if err != nil {
		return ""
	}
	return "\n\n" + string(text)
}

// texts are what people read on the pages. Those in a map are by language.
var texts = struct {
	introduction, index           string
	full, headlines, counterparts map[string]string
}{
	introductionText, indexText,
	map[string]string{"en": fullEnglish, "zh": fullChinese},
	map[string]string{"en": headlinesEnglish, "zh": headlinesChinese},
	map[string]string{"en": counterpartsEnglish, "zh": counterpartsChinese},
}
