package page

import (
	"fmt"
	"strings"
	"unicode"
)

// bookmark returns a heading without what means something to TeX.
func bookmark(title string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`\{}$&#%_^~"`+"`", r) || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, title)
}

// texLabel returns an anchor of letters, digits and dashes.
func texLabel(id string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, id)
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
		'∑': "sum", '∏': "prod", '∈': "in", '⊂': "subset", '∧': "wedge", '∨': "vee", '⊕': "oplus",
		'⊗': "otimes", '‖': "Vert", '∣': "mid",
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

// literal returns lines of literal text, indented as they are.
func literal(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimRight(line, " \n"), "\t", "    ")
		bare := strings.TrimLeft(line, " ")
		indent := strings.Repeat("\u00a0", len(line)-len(bare)) // TeX takes two spaces for one
		fmt.Fprintf(&b, "\\literalline{%s}\n", texCode(indent+strings.ReplaceAll(bare, "  ", "\u00a0\u00a0")))
	}
	return b.String()
}

// nonBreaking keeps a value with its name or unit.
var nonBreaking = strings.NewReplacer(" = ", "\u00a0=\u00a0", " %", "\u00a0%")

// texString returns s so that TeX prints its characters. It may break words so long that they are paths.
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
