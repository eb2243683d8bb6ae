package document

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"
	"unicode"

	"golang.org/x/text/width"
)

//go:embed templates/report.tex.tmpl
var texText string

// texDocument is what the template sees.
type texDocument struct {
	Report
	Chinese bool // it has characters that need the fonts of ctex
}

// TeX writes r for xelatex, which must run twice. It needs the recommended LaTeX packages of TeX Live, and ctex
// if r contains Chinese. Figures are read from figures/<id>.pdf. A table is set in the largest type in
// which it fits on the page, and is rotated only if it must be.
func TeX(w io.Writer, r Report) error {
	algorithms, listings := 0, 0
	t, err := template.New("report").Delims("<<", ">>").Funcs(template.FuncMap{
		"tex":  texString,
		"text": func(t Text) string { return texSpans(parse(t)) },
		"heading": func(level int) string {
			return []string{"section", "subsection", "subsubsection"}[min(max(level, 1), 3)-1]
		},
		"kind":      blockKind,
		"layout":    fit,
		"row":       texRow,
		"lines":     texLines,
		"algorithm": func() string { algorithms++; return texString(fmt.Sprintf("%s %d", r.Words.Algorithm, algorithms)) },
		"listing":   func() string { listings++; return texString(fmt.Sprintf("%s %d", r.Words.Listing, listings)) },
		"again":     r.shown,
		"code":      texCode,
	}).Parse(texText)
	if err != nil {
		return err
	}
	chinese := r.Lang == "zh"
	visit(r, func(s string) { chinese = chinese || strings.ContainsFunc(s, isHan) })
	return t.Execute(w, texDocument{r, chinese})
}

// isHan reports whether r is a Chinese character.
func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// visit calls f with every string of r that is printed.
func visit(r Report, f func(string)) {
	f(r.Title)
	f(r.Subtitle)
	for _, field := range r.Cover {
		f(field.Name)
		f(field.Value)
	}
	for _, s := range r.Sections {
		f(s.Title)
		for _, block := range s.Blocks {
			switch block := block.(type) {
			case Paragraph:
				f(string(block.Text))
			case List:
				for _, item := range block.Items {
					f(string(item))
				}
			case Code:
				f(block.Text)
			case Listing:
				f(string(block.Caption))
				f(block.Text)
			case Algorithms:
				for _, a := range block.Items {
					f(string(a.Title))
					f(a.Text)
				}
			case Figure:
				f(string(block.Caption))
				f(block.Command)
			case Table:
				f(string(block.Caption))
				f(block.Command)
				for _, c := range block.Columns {
					f(c.Title)
				}
				for _, row := range block.Rows {
					for _, cell := range row.Cells {
						f(string(cell))
					}
				}
			}
		}
	}
}

// texLayout is how a table is set.
type texLayout struct {
	Landscape bool
	Size      string // a command for the size of type
	Columns   string // their specification
}

// The size of the page, in TeX points, and the space of a column in addition to its text.
const (
	texPortrait  = 503.0
	texLandscape = 750.0
	texBetween   = 7.0
)

// fit returns the layout of t: the first of footnotesize and scriptsize, upright
// and turned, in which its columns have room. Cells of text, and heads, may be
// broken into lines; numbers may not.
func fit(t Table) texLayout {
	least, most := make([]float64, len(t.Columns)), make([]float64, len(t.Columns))
	for i, c := range t.Columns {
		// A head is broken between words.
		for _, word := range strings.Fields(c.Title) {
			least[i] = max(least[i], units(word))
		}
		most[i] = max(least[i], min(units(c.Title), 14))
		for _, row := range t.Rows {
			if i >= len(row.Cells) {
				continue
			}
			text := units(characters(parse(row.Cells[i])))
			most[i] = max(most[i], text)
			if !c.Numeric {
				text = min(text, 20)
			}
			least[i] = max(least[i], text)
		}
	}
	layouts := []struct {
		texLayout
		unit, room float64 // of a character, of the page
	}{
		{texLayout{Size: `\footnotesize`}, 4.25, texPortrait},
		{texLayout{Size: `\scriptsize`}, 3.98, texPortrait},
		{texLayout{Size: `\footnotesize`, Landscape: true}, 4.25, texLandscape},
		{texLayout{Size: `\scriptsize`, Landscape: true}, 3.98, texLandscape},
	}
	for i, l := range layouts {
		free := l.room - texBetween*float64(len(t.Columns))
		wants := 0.0
		for j := range least {
			free -= least[j] * l.unit
			wants += (most[j] - least[j]) * l.unit
		}
		if free < 0 && i < len(layouts)-1 {
			continue
		}
		share := 1.0
		if wants > 0 {
			share = max(0, min(1, free/wants))
		}
		spare := 0.0
		if share == 1 && free-wants > float64(len(t.Columns)) {
			spare = 0.1 // widths are rounded; a name of exactly that width would be broken
		}
		shrink := 1.0
		if free < 0 { // nothing fits: narrow all columns alike
			shrink = 1 + free/(l.room-texBetween*float64(len(t.Columns))-free)
		}
		var columns strings.Builder
		for j, c := range t.Columns {
			align := "L"
			if c.Numeric {
				align = "R"
			}
			fmt.Fprintf(&columns, "%s{%.1fpt}", align, spare+shrink*l.unit*(least[j]+share*(most[j]-least[j])))
		}
		l.Columns = columns.String()
		return l.texLayout
	}
	return texLayout{}
}

// units returns about how many digits s is wide.
func units(s string) float64 {
	n := 0.0
	for _, r := range s {
		switch kind := width.LookupRune(r).Kind(); {
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		case strings.ContainsRune("mwMW%×→—µ", r):
			n += 1.75
		case unicode.IsUpper(r):
			n += 1.5
		case strings.ContainsRune(" .,:;|'!()[]", r):
			n += 0.8
		default:
			n++
		}
	}
	return n
}

// texRow returns a row of a table, with the best values on grey and wrong results in red.
func texRow(r Row) string {
	cells := make([]string, len(r.Cells))
	for i, cell := range r.Cells {
		cells[i] = texSpans(parse(cell))
		switch {
		case cells[i] == "":
		case r.Class == "wrong":
			cells[i] = `\textcolor{bad}{` + cells[i] + `}`
		case r.Class == "muted":
			cells[i] = `\textcolor{muted}{` + cells[i] + `}`
		}
	}
	row := strings.Join(cells, " & ") + `\\`
	if r.Class == "best" {
		row = `\rowcolor{best}` + row
	}
	return row
}

// texSpans returns spans as TeX.
func texSpans(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		inner := texSpans(s.inner)
		switch s.kind {
		case plain:
			b.WriteString(texString(s.text))
		case literal:
			b.WriteString(texCode(s.text))
		case emphasis:
			b.WriteString(`\emph{` + inner + `}`)
		case strong:
			b.WriteString(`\textbf{` + inner + `}`)
		case linked:
			if id, ok := s.internal(); ok {
				b.WriteString(`\hyperlink{` + id + `}{` + inner + `}`)
			} else if _, ok := s.beside(); ok {
				b.WriteString(inner)
			} else if s.remote() {
				b.WriteString(`\href{` + texURL.Replace(s.target) + `}{` + inner + `}`)
			} else {
				b.WriteString(texSpans(inRepository(s)))
			}
		}
	}
	return b.String()
}

// texURL escapes a URL for \href, in an argument of another command too.
var texURL = strings.NewReplacer(`\`, `\%5C`, `%`, `\%`, `#`, `\#`, `&`, `\&`, `{`, `\%7B`, `}`, `\%7D`, `^`, `\%5E`,
	`~`, `\string~`, `_`, `\_`)

// texSpecial is how characters are written that mean something to TeX, or that its
// fonts for text do not have. All others are written as they are.
var texSpecial = texCharacters()

func texCharacters() map[rune]string {
	special := map[rune]string{
		'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`, '_': `\_`,
		'^': `\textasciicircum{}`, '~': `\textasciitilde{}`, '"': `\textquotedbl{}`, '[': `{[}`, ']': `{]}`, '*': `{*}`,
		'`':  `\textasciigrave{}`,
		'\n': ` `, '\t': ` `, '\u00a0': `~`, '−': `$-$`, '\u2009': `\,`, '\u202f': `\,`, '–': `\textendash{}`,
		'\u2011': `\mbox{-}`, '⋯': `$\cdots$`, '▷': `$\triangleright$`, '′': `$'$`, '∪': `$\cup$`, '∖': `$\setminus$`,
	}
	for character, name := range map[rune]string{
		'×': "times", '÷': "div", '·': "cdot", '±': "pm", '¬': "neg",
		'≤': "le", '≥': "ge", '≠': "ne", '≈': "approx", '≡': "equiv", '≪': "ll", '≫': "gg", '∞': "infty", '√': "surd",
		'←': "leftarrow", '→': "rightarrow", '↔': "leftrightarrow", '⇒': "Rightarrow",
		'∑': "sum", '∏': "prod", '∈': "in", '⊂': "subset", '∧': "wedge", '∨': "vee", '⊕': "oplus", '⊗': "otimes", '‖': "Vert", '∣': "mid",
		'⌈': "lceil", '⌉': "rceil", '⌊': "lfloor", '⌋': "rfloor", '★': "star", '✓': "surd",
		'α': "alpha", 'β': "beta", 'γ': "gamma", 'δ': "delta", 'ε': "varepsilon", 'η': "eta", 'θ': "theta",
		'κ': "kappa", 'λ': "lambda", 'μ': "mu", 'µ': "mu", 'π': "pi", 'ρ': "rho", 'σ': "sigma", 'τ': "tau", 'φ': "varphi",
		'ψ': "psi", 'ω': "omega",
		'Γ': "Gamma", 'Δ': "Delta", 'Θ': "Theta", 'Λ': "Lambda", 'Π': "Pi", 'Σ': "Sigma", 'Φ': "Phi", 'Ω': "Omega",
	} {
		special[character] = `$\` + name + `$`
	}
	for small, plain := range map[string]string{
		"⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱᵀ":     "0123456789+-niT",
		"₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₘₙₚᵣ": "0123456789+-ijkmnpr",
	} {
		mark := "^"
		if strings.HasPrefix(small, "₀") {
			mark = "_"
		}
		for i, character := range []rune(small) {
			special[character] = fmt.Sprintf(`$%s{%c}$`, mark, plain[i])
		}
	}
	return special
}

// texLines returns the lines of literal text, indented as they are.
func texLines(literal string) []string {
	var lines []string
	for line := range strings.Lines(literal) {
		line = strings.ReplaceAll(strings.TrimRight(line, " \n"), "\t", "    ")
		text := strings.TrimLeft(line, " ")
		indent := strings.Repeat("\u00a0", len(line)-len(text))
		lines = append(lines, texCode(indent+strings.ReplaceAll(text, "  ",
			"\u00a0\u00a0"))) // TeX takes two spaces for one
	}
	return lines
}

// texString returns s so that TeX prints its characters. It may break words so
// long that they are paths.
func texString(s string) string {
	words := strings.Split(s, " ")
	for i, word := range words {
		breaks := ""
		if len(word) > 30 {
			breaks = "/_.-"
		}
		words[i] = texRunes(word, breaks)
	}
	return strings.Join(words, " ")
}

// texCode returns s as literal text that may be broken after punctuation.
func texCode(s string) string {
	return `\texttt{` + texRunes(s, "/,=_.:;|)]}") + `}`
}

// unbroken is the number of characters in a row without a place to break the line at most.
const unbroken = 40

// texRunes returns s as TeX that may break lines after the characters breaks too, and within long words.
func texRunes(s, breaks string) string {
	var b strings.Builder
	runes := []rune(s)
	row := 0
	for i, r := range runes {
		special, ok := texSpecial[r]
		if !ok {
			special = string(r)
		}
		// A tilde or a circumflex over the character before is a rune of its own.
		accent := map[rune]string{'\u0302': `\hat`, '\u0303': `\tilde`}
		if accent[r] != "" {
			continue
		}
		if i+1 < len(runes) {
			if name := accent[runes[i+1]]; name != "" {
				special = "$" + name + "{" + strings.Trim(special, "$") + "}$"
			}
		}
		b.WriteString(special)
		if row++; r == ' ' || isHan(r) {
			row = 0
		}
		if i+1 < len(runes) {
			switch {
			case strings.ContainsRune(breaks, r), row >= unbroken:
				b.WriteString(`\allowbreak{}`)
				row = 0
			case r == runes[i+1] && strings.ContainsRune("-'<>,", r):
				b.WriteString("{}") // or they are a ligature
			}
		}
	}
	return b.String()
}
