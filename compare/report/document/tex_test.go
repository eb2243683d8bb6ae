package document

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm/compare/report/reporttest"
)

func TestTeXGolden(t *testing.T) {
	var buf bytes.Buffer
	if err := TeX(&buf, specimen()); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "report.tex.golden", buf.Bytes())
}

// untex returns the characters that TeX prints for s, as texString writes it.
func untex(s string) string {
	names := slices.Collect(maps.Keys(texSpecial))
	// The longest first: \textbackslash{} is no \t.
	slices.SortFunc(names, func(a, b rune) int { return len(texSpecial[b]) - len(texSpecial[a]) })
	var b strings.Builder
next:
	for s != "" {
		for _, r := range names {
			// Blanks of several kinds, and the two signs of micro, look the same.
			if rest, ok := strings.CutPrefix(s, texSpecial[r]); ok && !strings.ContainsRune("\n\t\u202fµ✓", r) {
				b.WriteRune(r)
				s = rest
				continue next
			}
		}
		if rest, ok := strings.CutPrefix(s, `\allowbreak{}`); ok {
			s = rest
			continue
		}
		if rest, ok := strings.CutPrefix(s, "{}"); ok {
			s = rest
			continue
		}
		r := []rune(s)[0]
		b.WriteRune(r)
		s = s[len(string(r)):]
	}
	return b.String()
}

// FuzzTeX checks that escaped text prints unchanged, and contains nothing that TeX reads as a
// command, a comment or a ligature.
func FuzzTeX(f *testing.F) {
	for _, seed := range []string{
		"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "\\textbackslash{}", "{}", "--- '' `` <<>> ,, ?` !`",
		"γ_k ≤ 2⁻⁵³·k × µ ᵢⱼ √ – — “”", "矩阵 乘法", "$\\times$", "100 % & #1", "/a/rather-long/path_of.many--parts/that.goes/on",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.Map(func(r rune) rune {
			switch {
			case r == '\uFFFD' || r == '\u0302' || r == '\u0303' || r < ' ': // not text, or an accent
				return -1
			case strings.ContainsRune("\u202fµ✓", r):
				return ' '
			}
			return r
		}, s)
		tex := texString(s)
		if got := untex(tex); got != s {
			t.Errorf("%q becomes %q, which prints %q", s, tex, got)
		}
		bare := strings.NewReplacer(`\\`, "", `\{`, "", `\}`, "", `\$`, "", `\&`, "", `\#`, "", `\%`, "", `\_`,
			"").Replace(tex)
		if n := strings.Count(bare, "{") - strings.Count(bare, "}"); n != 0 {
			t.Errorf("%q: %d braces are open", tex, n)
		}
		if strings.Count(bare, "$")%2 != 0 || strings.ContainsAny(bare, "%&#~"+"`"+`"`) && !strings.Contains(s, "\u00a0") {
			t.Errorf("%q has a bare mark", tex)
		}
		for _, ligature := range []string{"--", "''", "<<", ">>", ",,"} {
			if strings.Contains(tex, ligature) {
				t.Errorf("%q has the ligature %s", tex, ligature)
			}
		}
	})
}

// TestTeXBreaksWords: a word as long as a page has places to break the line, in prose and in literal text.
func TestTeXBreaksWords(t *testing.T) {
	for _, tex := range []string{texString(strings.Repeat("w", 1000)), texCode(strings.Repeat("-", 1000))} {
		for part := range strings.SplitSeq(tex, `\allowbreak{}`) {
			if len(part) > 4*unbroken {
				t.Errorf("%q has no break", part)
			}
		}
	}
}

// TestTeXAuthor: the author of the document is whom the report names, and nobody else.
func TestTeXAuthor(t *testing.T) {
	for _, author := range []string{"", "张三 & Co"} {
		r := specimen()
		r.Author = author
		var buf bytes.Buffer
		if err := TeX(&buf, r); err != nil {
			t.Fatal(err)
		}
		want := author != ""
		if got := strings.Contains(buf.String(), `,pdfauthor={张三 \& Co}}`); got != want ||
			strings.Contains(buf.String(), "pdfauthor") != want || strings.Contains(buf.String(), "pdfusetitle") {
			t.Errorf("%q: %.900s", author, buf.String())
		}
	}
}

func TestTeXAccents(t *testing.T) {
	for in, want := range map[string]string{"γ\u0303_k": `$\tilde{\gamma}$\_k`, "C\u0302": `$\hat{C}$`} {
		if got := texString(in); got != want {
			t.Errorf("%q becomes %s, want %s", in, got, want)
		}
	}
}

// TestFit checks that tables of any width fit on the page, and that narrow ones are upright and in
// large type.
func TestFit(t *testing.T) {
	table := func(columns int, cell Text, numeric bool) Table {
		var table Table
		var row Row
		for range columns {
			table.Columns = append(table.Columns, Column{Title: "head", Numeric: numeric})
			row.Cells = append(row.Cells, cell)
		}
		table.Rows = []Row{row}
		return table
	}
	for _, test := range []struct {
		name  string
		table Table
		want  texLayout
	}{
		{"narrow", table(3, "12345678", true), texLayout{Size: `\footnotesize`}},
		{"wide", table(8, "12345678901234", true), texLayout{Size: `\scriptsize`}},
		{"wider", table(10, "12345678901234", true), texLayout{Size: `\footnotesize`, Landscape: true}},
		{"too wide", table(60, "12345678901234", true), texLayout{Size: `\scriptsize`, Landscape: true}},
		{"prose", table(2, Text(strings.Repeat("word ", 100)), false), texLayout{Size: `\footnotesize`}},
		{"empty", Table{}, texLayout{Size: `\footnotesize`}},
	} {
		got := fit(test.table)
		room := texPortrait
		if got.Landscape {
			room = texLandscape
		}
		total := texBetween * float64(len(test.table.Columns))
		for _, column := range regexp.MustCompile(`\{([0-9.]+)pt\}`).FindAllStringSubmatch(got.Columns, -1) {
			var points float64
			if _, err := fmt.Sscan(column[1], &points); err != nil {
				t.Fatal(err)
			}
			if points <= 0 {
				t.Errorf("%s: a column of %v points", test.name, points)
			}
			total += points
		}
		if total > room+0.1*float64(len(test.table.Columns)) {
			t.Errorf("%s: %.0f points wide, the page has %.0f", test.name, total, room)
		}
		if got.Columns = ""; got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestTeXCompiles has every character that is written in a way of its own.
func TestTeXCompiles(t *testing.T) {
	special := specimen()
	var characters strings.Builder
	for r := rune(' '); r <= '~'; r++ {
		characters.WriteString(string(r) + " ")
	}
	for _, r := range slices.Sorted(maps.Keys(texSpecial)) {
		characters.WriteString(string(r) + " ")
	}
	special.Sections[0].Blocks = append(special.Sections[0].Blocks,
		Paragraph{Escape(characters.String())}, Paragraph{Literal(characters.String())}, Paragraph{"矩阵乘法：**快**，`字节`。"},
		Paragraph{"γ\u0303 and [" + Escape(characters.String()) + "](#second)"})
	// Its words have no end: lines are as long as they like.
	reporttest.CompileTeX(t, func(w io.Writer) error { return TeX(w, special) }, specimenDrawings(), math.Inf(1))
}
