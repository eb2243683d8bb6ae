// Package page fills templates of Markdown and writes the result as HTML, TeX and Markdown. It knows nothing of
// records. The same template and data give the same bytes.
package page

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Text is Markdown. Whatever else a template prints is data: its characters mean themselves.
type Text string

var (
	special = regexp.MustCompile("[\\\\`*_\\[\\]<>|~&$#{]")
	begins  = regexp.MustCompile(`^([-+=:](\s|[-=]|$)|\d+[.)](\s|$))`)
	entity  = regexp.MustCompile(`^\d+[.)]`)
	within  = regexp.MustCompile(`([\pL\pN])\\_([\pL\pN])`)
)

// Escape returns data, as one line, as Markdown that means just its characters.
func Escape(data string) Text {
	data = strings.TrimSpace(oneLine(data))
	text := special.ReplaceAllString(data, `\$0`)
	text = within.ReplaceAllString(within.ReplaceAllString(text, "${1}_$2"), "${1}_$2") // twice: matches overlap
	if begins.MatchString(text) {
		mark := max(0, len(entity.FindString(text))-1)
		text = text[:mark] + `\` + text[mark:]
	}
	return Text(text)
}

// oneLine returns data with a space for each character that is not shown, such as a control character.
func oneLine(data string) string { return shown(data, "") }

// shown is oneLine but for some characters.
func shown(data, but string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) && !strings.ContainsRune(but, r) {
			return ' '
		}
		return r
	}, data)
}

// Code returns data, as one line, as a span of code, in a fence longer than any in it. It may stand in a table.
func Code(data string) Text {
	data = strings.TrimSpace(oneLine(data))
	if data == "" {
		return ""
	}
	fence := fenceFor(data, 1)
	pad := ""
	if strings.HasPrefix(data, "`") || strings.HasSuffix(data, "`") {
		pad = " "
	}
	return Text(fence + pad + data + pad + fence)
}

// Fence returns a fenced block of code with an info string.
func Fence(info, code string) Text {
	code = shown(code, "\n\t")
	fence := fenceFor(code, 3)
	info = strings.ReplaceAll(oneLine(info), "`", "'")
	return Text(fmt.Sprintf("\n\n%s%s\n%s\n%s\n\n", fence, info, strings.TrimRight(code, "\n"), fence))
}

// fenceFor returns the shortest run of at least n backquotes that is not in s.
func fenceFor(s string, n int) string {
	fence := strings.Repeat("`", n)
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence
}

// Link returns a link to #section, a path in the repository or a URL.
func Link(label any, target string) Text {
	if strings.ContainsAny(target, " ()<>\\") {
		target = "<" + strings.NewReplacer(`\`, `\\`, `<`, `\<`, `>`, `\>`, "\n", " ").Replace(target) + ">"
	}
	return "[" + Markdown(label) + "](" + Text(target) + ")"
}

// Markdown returns x as Markdown: a Text as it is, anything else as data.
func Markdown(x any) Text {
	switch x := x.(type) {
	case Text:
		return x
	case nil:
		return ""
	}
	return Escape(fmt.Sprint(x))
}

// Join returns texts with a mark between them.
func Join(texts []Text, mark string) Text {
	parts := make([]string, len(texts))
	for i, t := range texts {
		parts[i] = string(t)
	}
	return Text(strings.Join(parts, mark))
}
