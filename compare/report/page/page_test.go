package page

import (
	"bytes"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"

	"gemm/compare/report/chart"
	"gemm/gemmtest/reporttest"
)

var words = Words{Contents: "Contents", Figure: "Figure", Table: "Table", Algorithm: "Algorithm", Stop: ". ",
	Filter: "Filter", Rows: "rows"}

const marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// specimen is a page with every block, and with every character that one of the formats takes for a mark.
func specimen() *Page {
	source := "# A title & <more>\n\n100 % of_it\n\n## First \\#1 {#first}\n\nPlain, *emphatic*, **strong *and " +
		"both***, `a | b < c`, [a section](#second), [a page](https://example.org/a_b?c=d&e=%20#f), " +
		"[measuring](docs/measuring.md), [`docs/x.md`](docs/x.md) and [a row](appendix#rows).\n\n" +
		string(Escape(marks)) + "\n\n" + string(Code(marks)) + "\n\nγ_k ≤ 2⁻⁵³·k × (|A||B|)ᵢⱼ — “quoted” – 1…2 → µs " +
		"−1 √0.95 Ĉ <script>alert(1)</script>.\n\n[TOC]\n\n### Second {#second}\n\n- {#one} [one](#one)\n- two, " +
		"which\n  goes on\n\n1. **first** thing\n2. second\n\n" +
		string(Fence("go", "if a < b && c {\n\tx := `y`\n}\n")) +
		"![Speed of `serial` & *others*.](figures/gflops-serial-f64.svg)\n\n| Variant | State \\| note | Time |\n| " +
		":-- | :-- | --: |\n| `serial/naive` | ok | 1.25 ms |\n| ***`serial/a\\|b`*** | **wrong** \\[1\\] | — |\n| " +
		"*`serial/ikj`* | | — |\n| **\\*serial** | **ok** | **0.250 ms** |\n\nTable: Rows | columns.\n\n> Said by " +
		"others.\n\n---\n\n#### Third\n\n```math\nC_{ij} = \\sum_{p=1}^{k} A_{ip} B_{pj} \\tag{1}\n```\n\n" +
		string(Fence("algorithm serial/naive", "for i ← 0 to m−1\n  C[i] ← Σ a ⊕ b ▷ ⋯\n")) +
		string(Fence("algorithm b", "x_1 ← ⌈n/2⌉"))
	p := Parse(Text(source), "en", words)
	p.Cover = []Field{{Name: "Course", Value: "Parallel & distributed"}, {Name: "Name", Value: "张三 & Co", Author: true}}
	return p
}

func drawings() []chart.Drawing {
	look, points := chart.LookOf(0), []chart.Point{{X: 64, Y: 1, Lo: 1, Hi: 1}, {X: 128, Y: 2, Lo: 2, Hi: 2}}
	curve := chart.Curve{Title: "GFLOP/s over n", XLabel: "n", YLabel: "GFLOP/s", Sizes: []float64{64, 128},
		Series: []chart.Series{{Label: "serial/naive", Look: look, Points: points}}}
	return []chart.Drawing{{ID: "gflops-serial-f64", Title: curve.Title, Chart: curve}}
}

func html(t *testing.T, p *Page) string {
	t.Helper()
	var buf bytes.Buffer
	if err := p.HTML(&buf, drawings()); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// TestGoldens compares the specimen in every format with a file. The packages that make the style and the figure test
// them.
func TestGoldens(t *testing.T) {
	text := html(t, specimen())
	if err := reporttest.CheckHTML(text, "en"); err != nil {
		t.Error(err)
	}
	if err := specimen().HTML(io.Discard, nil); err == nil || !strings.Contains(err.Error(), "gflops-serial-f64") {
		t.Errorf("a figure that does not exist: %v", err)
	}
	// What looks like an element in a template is text.
	_, body, _ := strings.Cut(html(t, Parse("# T\n\nS\n\n## A {#a}\n\n"+
		"<script>alert(1)</script> <b onclick=x>y</b>\n\n<div>\nz\n"+
		"</div>\n", "en", words)), "<main>")
	body, _, _ = strings.Cut(body, "</main>")
	if regexp.MustCompile("<script|<b |<div>").MatchString(body) || !strings.Contains(body, "&lt;script&gt;") {
		t.Error(body)
	}
	text = regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAllString(text, "<style/>")
	text = regexp.MustCompile(`(?s)(<svg [^>]*>).*?</svg>`).ReplaceAllString(text, "$1</svg>")
	reporttest.Golden(t, "report.html.golden", []byte(text))
	for name, write := range map[string]func(io.Writer) error{"md": specimen().Markdown, "tex": specimen().TeX} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, "report."+name+".golden", b.Bytes())
	}
}

// TestHTMLColors checks that only colours of data are fixed in a page; all others must change with the dark theme.
func TestHTMLColors(t *testing.T) {
	text := html(t, specimen())
	for _, gone := range []string{"#1B1B1F", "#D3D4DA", "#7A7C85", "#FFFFFF"} {
		if strings.Contains(text, gone) {
			t.Errorf("%s is written out", gone)
		}
	}
	for _, name := range []string{"ink", "mid", "faint", "paper"} {
		if !strings.Contains(text, "var(--"+name+")") || !strings.Contains(htmlStyle, "--"+name+":") {
			t.Errorf("no colour %s", name)
		}
	}
}

// TestHTMLFolds: long tables are folded, tables of medium length can be folded, and short ones cannot.
func TestHTMLFolds(t *testing.T) {
	for rows, want := range map[int]string{40: "", 41: "<details open>\n<summary>41 rows</summary>", 150: "<details open>",
		151: "<details>\n<summary>151 rows</summary>"} {
		text := html(t, Parse(Text("| x |\n| --: |\n"+strings.Repeat("| 1 |\n", rows)), "zh", words))
		_, body, _ := strings.Cut(text, "<main>")
		if !strings.Contains(body, want) || strings.Contains(body, "<details") != (want != "") ||
			strings.Count(body, "<tr") != rows+1 {
			t.Errorf("%d rows: no %q in\n%.300s", rows, want, body)
		}
		if err := reporttest.CheckHTML(text, "zh"); err != nil {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}

// hostile are data that some format might take for marks.
var hostile = []string{"", "a", `\`, "`", "``", "**", "*a*", "_a_ b_c", "[x](y)",
	"![x](figures/y.svg)", "`a`*b*\\[", "\\`", "日本語 γ̃", "# x",
	"## x {#id}", "- x", "+ x", "1. x", "23) x", "> x", "---", "===", "| a | b |", "a|b",
	"<script>alert(1)</script>", "<https://x.org>", "&lt;", "&amp;",
	"{{.Lang}}", `\input{x}`, `\end{document}`, "$x$", "$$", "~~x~~", "%", "#",
	"```", "~~~", "[TOC]", "Table: x", "表：x", "\u202eabc", "\u2066x\u2069",
	"a\nb", "a\n\n# b",
	"    code", "[a]: http://x", "http://x.org", strings.Repeat("w", 10000), marks}

// FuzzEscape: data in a paragraph, a heading, an item, a cell, code, and a link comes back unchanged.
func FuzzEscape(f *testing.F) {
	for _, seed := range hostile {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		data := strings.TrimSpace(oneLine(given))
		if data == "" {
			return
		}
		same := func(where, source string, find func(p *Page) ast.Node) {
			t.Helper()
			p := Parse(Text(source), "en", words)
			if n := find(p); n == nil || p.plain(n) != data {
				t.Errorf("%s: %q does not come back from %q", where, data, source)
			}
		}
		first := func(p *Page) ast.Node { return p.root.FirstChild() }
		esc, code := string(Escape(given)), string(Code(given))
		same("paragraph", esc, func(p *Page) ast.Node {
			if p.root.ChildCount() != 1 || first(p).Kind() != ast.KindParagraph {
				return nil
			}
			return first(p)
		})
		same("heading", "## "+esc+" {#x}", func(p *Page) ast.Node {
			if p.headings[0].ID != "x" {
				return nil
			}
			return first(p)
		})
		same("item", "- "+esc+"\n- b", func(p *Page) ast.Node { return first(p).FirstChild() })
		same("code", code, func(p *Page) ast.Node { return first(p).FirstChild() })
		same("link", "x "+string(Link(given, "#y")), func(p *Page) ast.Node { return first(p).LastChild() })
		for _, cell := range []string{esc, code} {
			same("cell", "| a | b |\n| :-- | :-- |\n| x | "+pipe(Text(cell))+" |\n", func(p *Page) ast.Node {
				b, ok := first(p).(*block)
				if !ok || b.table.ChildCount() != 2 || b.table.LastChild().ChildCount() != 2 {
					return nil
				}
				return b.table.LastChild().LastChild()
			})
		}
		fenced := Parse(Fence("algorithm x", data), "en", words)
		if b, ok := first(fenced).(*block); !ok || b.lines[0].text != data {
			t.Errorf("%q does not come back from a fence", data)
		}
		Parse(Text(given), "en", words) // whatever it is, it ends
	})
}

type row struct {
	Name  string
	Speed float64
	Empty string
	Kind  string
	of    map[int]float64
}

func (r row) Class() string    { return r.Kind }
func (r row) At(n int) float64 { return r.of[n] }
func (r row) Shout() Text      { return Text("**" + Escape(r.Name) + "!**") }

type data struct {
	Rows  []row
	Sizes []int
}

func TestTables(t *testing.T) {
	tables := Tables{}
	if err := tables.Read([]byte(`
t:
  - {field: Name, en: Name, zh: 名称, format: code}
  - {field: Speed, en: GFLOP/s, zh: GFLOP/s, format: fixed 2, align: right}
  - {field: Empty, en: Nothing, zh: 无, absent: true}
  - {field: At, each: Sizes, en: n = %v, zh: n = %v, align: right}
wrong: [{field: Nam, en: x}]
format: [{field: Name, en: x, format: shout}]
`)); err != nil {
		t.Fatal(err)
	}
	funcs := map[string]any{
		"code":  func(x any) Text { return Code(x.(string)) },
		"fixed": func(digits string, x float64) string { return strings.Repeat("0", len(digits)) + "|" + "5" },
	}
	rows := data{[]row{{Name: "a|b", of: map[int]float64{64: 1.5}}, {Name: "c", Kind: "best"}}, []int{64, 128}}
	got, err := tables.Table("t", "en", rows, funcs)
	want := "\n\n| Name | GFLOP/s | n = 64 | n = 128 |\n| :-- | --: | --: | --: |\n" +
		"| `a\\|b` | 0\\|5 | 1.5 | 0 |\n| **`c`** | **0\\|5** | **0** | **0** |\n\n"
	if err != nil || string(got) != want {
		t.Errorf("got %v\n%s want\n%s", err, got, want)
	}
	if got, err := tables.Table("t", "zh", data{}, funcs); got != "" || err != nil {
		t.Errorf("no rows: %q, %v", got, err)
	}
	for name, want := range map[string]string{
		"tt": `there is no table "tt"; the nearest is t`, "wrong": "Nam", "format": `no format "shout"`,
	} {
		if _, err := tables.Table(name, "en", rows.Rows, funcs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := tables.Read([]byte("t: []")); err == nil {
		t.Error("a table is there twice")
	}
}

func TestTemplates(t *testing.T) {
	set := New(map[string]any{
		"twice": func(s string) string { return s + s }, "code": func(s string) Text { return Code(s) },
	})
	if err := set.Add("form.md", "# {{.Name}}\n\n{{if .Name}}{{twice .Name}}{{else}}x{{end}} "+
		"{{with $x := .Name}}{{code $x}}{{end}}{{range .Rows}}{{.Shout}}{{end}}\n\n\n\nend"); err != nil {
		t.Fatal(err)
	}
	got, err := set.Fill("form.md", struct {
		Name string
		Rows []row
	}{"a*b", []row{{Name: "<c>"}}})
	if want := "# a\\*b\n\na\\*ba\\*b `a*b`**\\<c\\>!**\n\nend"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for source, want := range map[string]string{
		"a\n{{.Nme}}":                                "template x.md:2:2:",
		"a\n{{range .Rows}}{{.Speeed}}{{end}}":       "the nearest is Speed",
		"{{tvice .Name}}":                            "the nearest is twice",
		"a\n\n{{if .Name}}":                          "template x.md:3: unexpected EOF",
		"`{{.Name}}`":                                "use {{code .Name}}",
		"{{range $i := 100000000}}0123456789{{end}}": "more than",
	} {
		set := New(map[string]any{"twice": func(s string) string { return s + s }})
		err := set.Add("x.md", source)
		if err == nil {
			_, err = set.Fill("x.md", &data{Rows: []row{{}}})
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", source, err)
		}
	}
}

// untex returns the characters that TeX prints for s, as texString writes it.
func untex(s string) string {
	// The longest first: \textbackslash{} is no \t.
	names := slices.SortedFunc(maps.Keys(texSpecial),
		func(a, b rune) int { return len(texSpecial[b]) - len(texSpecial[a]) })
	var pairs []string
	for _, r := range names {
		// Blanks of several kinds, and the two signs of micro, look the same.
		if !strings.ContainsRune("\n\t\u202fµ✓", r) {
			pairs = append(pairs, texSpecial[r], string(r))
		}
	}
	return strings.NewReplacer(append(pairs, `\allowbreak{}`, "", "{}", "")...).Replace(s)
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

// TestTeXWords: accents are TeX's, and a word as long as a page has places to break the line, in prose and in
// literal text.
func TestTeXWords(t *testing.T) {
	if got := texString("γ\u0303_k C\u0302"); got != `$\tilde{\gamma}$\_k $\hat{C}$` {
		t.Errorf("accents become %s", got)
	}
	for _, tex := range []string{texString(strings.Repeat("w", 1000)), texCode(strings.Repeat("-", 1000))} {
		for part := range strings.SplitSeq(tex, `\allowbreak{}`) {
			if len(part) > 4*unbroken {
				t.Errorf("%q has no break", part)
			}
		}
	}
}

// TestFit: tables of any width fit on the page, and narrow ones are upright and in large type.
func TestFit(t *testing.T) {
	table := func(columns int, cell, rule string) string {
		line := func(cell string) string { return strings.Repeat("| "+cell+" ", columns) + "|\n" }
		return line("head") + line(rule) + line(cell)
	}
	for _, test := range []struct {
		name, table string
		columns     int
		want        texLayout
	}{
		{"narrow", table(3, "12345678", "--:"), 3, texLayout{Size: `\footnotesize`}},
		{"wide", table(8, "12345678901234", "--:"), 8, texLayout{Size: `\scriptsize`}},
		{"wider", table(10, "12345678901234", "--:"), 10, texLayout{Size: `\footnotesize`, Landscape: true}},
		{"too wide", table(60, "12345678901234", "--:"), 60, texLayout{Size: `\scriptsize`, Landscape: true}},
		{"prose", table(2, strings.Repeat("word ", 100), ":--"), 2, texLayout{Size: `\footnotesize`}},
	} {
		p := Parse(Text(test.table), "en", words)
		got := p.fit(p.root.FirstChild().(*block).table)
		room := texPortrait
		if got.Landscape {
			room = texLandscape
		}
		total := texBetween * float64(test.columns)
		for _, column := range regexp.MustCompile(`\{([0-9.]+)pt\}`).FindAllStringSubmatch(got.Columns, -1) {
			points, err := strconv.ParseFloat(column[1], 64)
			if err != nil || points <= 0 {
				t.Errorf("%s: a column of %v points, %v", test.name, points, err)
			}
			total += points
		}
		if total > room+0.1*float64(test.columns) {
			t.Errorf("%s: %.0f points wide, the page has %.0f", test.name, total, room)
		}
		if got.Columns = ""; got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestTeXCompiles has every character that is written in a way of its own, and hostile data everywhere.
func TestTeXCompiles(t *testing.T) {
	var characters strings.Builder
	for r := rune(' '); r <= '~'; r++ {
		characters.WriteString(string(r) + " ")
	}
	for _, r := range slices.Sorted(maps.Keys(texSpecial)) {
		characters.WriteString(string(r) + " ")
	}
	source := string(specimen().source)
	for _, s := range append(slices.Clone(hostile), characters.String(), "γ\u0303") {
		if s = string(Escape(s)); s != "" && len(s) < 10000 {
			source += "\n\n### " + s + "\n\n" + s + "\n\n- " + s + "\n\n" + string(Code(s)) +
				"\n\n| a | b |\n| :-- | --: |\n| x | " + pipe(Text(s)) + " |\n\nTable: " + s + "\n"
		}
	}
	source += "\n\n矩阵乘法：**快**，`字节`。\n\n[" + string(Escape(characters.String())) + "](#second)\n"
	p := Parse(Text(source), "en", words)
	// Its words have no end: lines are as long as they like.
	reporttest.CompileTeX(t, p.TeX, drawings(), math.Inf(1))
}
