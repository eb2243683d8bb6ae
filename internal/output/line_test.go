package output

import (
	"strings"
	"testing"
)

// hostile are texts that a terminal obeys or a table takes for rows, and what is shown of them.
var hostile = map[string]string{
	"\x1b[31mred\x1b[0m": `\x1b[31mred\x1b[0m`, "bell\a": `bell\a`, "over\rwritten": `over\rwritten`,
	"a\u202eb": `a\u202eb`, "a\xffb": `a\xffb`, "a\x7fb": `a\u007fb`, "a\u009bb": `a\u009bb`, "a\u2028b": `a\u2028b`,
	"tag\U000e0041": `tag\udb40\udc41`, "null\x00": `null\x00`,
	"a\nb": "a; b", " a\r\nb\n": "a; b", "col\tumn": `col\tumn`,
	"plain µs ≤ 3×4 中文 \ufffd \u00a0 🙂": "plain µs ≤ 3×4 中文 \ufffd \u00a0 🙂", "": "",
}

func TestLine(t *testing.T) {
	for text, want := range hostile {
		if got := Line(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestTable writes hostile cells. Each row is one line with as many cells as it was given.
func TestTable(t *testing.T) {
	for text, want := range hostile {
		var b strings.Builder
		w := NewTable(&b, "A", "B", "C")
		w.Row("x", text, 7)
		must(t, w.Flush())
		lines := strings.Split(b.String(), "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[1], "x  "+want) || !strings.HasSuffix(lines[1], "  7") {
			t.Errorf("%q is in the table\n%s", text, b.String())
		}
	}
}

// TestWriters writes hostile texts to a screen, which keeps lines and tabs, and as messages of one line.
func TestWriters(t *testing.T) {
	for text, want := range hostile {
		var screen, lines strings.Builder
		n, err := Screen{&screen}.Write([]byte(text))
		if kept := strings.NewReplacer("\n", "; ", `\t`, "\t"); n != len(text) || err != nil || !strings.ContainsAny(text, "\n") &&
			screen.String() != kept.Replace(want) {
			t.Errorf("%q is on the screen %q, %d, %v", text, screen.String(), n, err)
		}
		n, err = Lines{&lines}.Write([]byte(text + "\n"))
		if n != len(text)+1 || err != nil || lines.String() != want+"\n" {
			t.Errorf("%q is the message %q, %d, %v", text, lines.String(), n, err)
		}
	}
	var b strings.Builder
	if _, err := (Screen{&b}).Write([]byte("a\tb\n\nc\n")); err != nil || b.String() != "a\tb\n\nc\n" {
		t.Errorf("lines are %q, %v", b.String(), err)
	}
}
