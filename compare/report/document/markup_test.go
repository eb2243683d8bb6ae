package document

import (
	"fmt"
	"strings"
	"testing"
)

// shown returns spans in a notation that shows their kinds.
func shown(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		switch s.kind {
		case plain:
			b.WriteString(s.text)
		case literal:
			fmt.Fprintf(&b, "C<%s>", s.text)
		case emphasis:
			fmt.Fprintf(&b, "E<%s>", shown(s.inner))
		case strong:
			fmt.Fprintf(&b, "S<%s>", shown(s.inner))
		case linked:
			fmt.Fprintf(&b, "L<%s|%s>", shown(s.inner), s.target)
		}
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		in   Text
		want string
	}{
		{"", ""},
		{"plain", "plain"},
		{"a `b *c*` d", "a C<b *c*> d"},
		{"*a* **b**", "E<a> S<b>"},
		{"**a *b* c**", "S<a E<b> c>"},
		{"*a **b** c*", "E<a S<b> c>"},
		{"**a*b*c**", "S<aE<b>c>"},
		{"[a `b`](#c) d", "L<a C<b>|#c> d"},
		{"**[a](b)**", "S<L<a|b>>"},
		{`[a](b\)c)`, "L<a|b)c>"},
		{`\*a\* \[b\](c) \` + "`d\\`", "*a* [b](c) `d`"},
		{"`a\\`", `C<a\>`}, // nothing is escaped in literal text
		{"`` a`b\\c` ``", "C<a`b\\c`>"},
		{"`*` and *x*", "C<*> and E<x>"},
		{"*a `*` b*", "E<a C<*> b>"},
		// Markers without their partners are text.
		{"2 * 3", "2 * 3"},
		{"a ` b", "a ` b"},
		{"**a", "**a"},
		{"[a] (b)", "[a] (b)"},
		{"[a](b", "[a](b"},
		{"[a]()", "L<a|>"},
		{"**** x", "**** x"},
		{`end\`, `end\`},
		{"[a [b](c)](d)", "[a L<b|c>](d)"}, // a link holds no other
		{"**粗体**文字", "S<粗体>文字"},
		{"a _b_ c_d_e", "a E<b> c_d_e"},
		{" a ", " a "},
	} {
		if got := shown(parse(test.in)); got != test.want {
			t.Errorf("parse(%q) is %s, want %s", test.in, got, test.want)
		}
	}
}

// FuzzMarkup checks that escaped data comes back unchanged.
func FuzzMarkup(f *testing.F) {
	for _, seed := range []string{"", "a", `\`, "`", "**", "*a*", "[x](y)", "`a`*b*\\[", "\\`", "日本語 γ̃"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		data := oneLine(given)
		if got := characters(parse(Escape(given))); got != data {
			t.Errorf("%q comes back as %q", data, got)
		}
		if data != "" {
			if spans := parse(Literal(given)); len(spans) != 1 || spans[0].kind != literal || spans[0].text != data {
				t.Errorf("code of %q comes back as %s", data, shown(spans))
			}
			if spans := parse(Link(Literal(given), "#x")); len(spans) != 1 || spans[0].target != "#x" ||
				characters(spans) != data {
				t.Errorf("link of %q comes back as %s", data, shown(spans))
			}
		}
		parse(Text(given)) // whatever it is, it ends
	})
}
