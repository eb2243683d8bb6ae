package text

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gemm/compare/note"
	"gemm/compare/report/document"
)

// TestLanguagesAgree checks that every message exists in every language, with the same arguments.
func TestLanguagesAgree(t *testing.T) {
	en := loaded().args["en"]
	for _, lang := range Languages {
		args := loaded().args[lang]
		for _, key := range slices.Concat(Keys("en"), Keys(lang)) {
			have, ok := args[key]
			want, known := en[key]
			switch {
			case strings.HasPrefix(key, "note."): // their English is that of the records
			case !ok || !known:
				t.Errorf("message %s is not in every language", key)
			case !slices.Equal(have, want):
				t.Errorf("message %s has the arguments %v in %s, %v in en", key, have, lang, want)
			}
		}
	}
}

var han = regexp.MustCompile(`\p{Han}`)

// TestMessages looks at every form of every message.
func TestMessages(t *testing.T) {
	for _, lang := range Languages {
		file, err := loaded().bundle.LoadMessageFileFS(files, lang+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range file.Messages {
			counted := slices.Equal(argsIn(m.Other), []string{"Count"})
			switch {
			case m.Other == "":
				t.Errorf("%s.yaml: %s is empty", lang, m.ID)
			case lang == "en" && counted != (m.One != ""):
				t.Errorf("%s.yaml: %s has a form for one just if it has the argument Count alone", lang, m.ID)
			case m.One != "" && !slices.Equal(argsIn(m.One), argsIn(m.Other)):
				t.Errorf("%s.yaml: the forms of %s have different arguments", lang, m.ID)
			case lang == "en" && han.MatchString(m.One+m.Other):
				t.Errorf("%s.yaml: %s is Chinese", lang, m.ID)
			}
			if left := argument.ReplaceAllString(m.One+m.Other, ""); strings.ContainsAny(left, "{}") {
				t.Errorf("%s.yaml: in %s, %q is more than an argument", lang, m.ID, left)
			}
		}
	}
}

// call is a place in the code that says a message.
type call struct {
	at    string
	key   *regexp.Regexp // what the key may be
	args  []string
	known bool // whether the arguments are spelled there
}

// says has the functions that take a key, with the places of the key and of the first
// text.Args among their arguments.
var says = map[string]struct{ key, args int }{
	"Say": {0, 1}, "Plain": {0, 1}, "Count": {0, 2}, "Has": {0, 1}, "Word": {0, 2}, "Of": {2, 3}, "Figure": {3, 5},
	"add": {1, 4},
}

// TestCalls checks that every call in the code of reports names an existing message and gives it
// the arguments that it has.
func TestCalls(t *testing.T) {
	en := loaded().args["en"]
	var calls []call
	chapters := map[string]bool{}
	for key := range en {
		chapter, _, _ := strings.Cut(key, ".")
		chapters[chapter] = true
	}
	fset := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "." {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if c, ok := callOf(fset, n); ok {
					calls = append(calls, c)
				}
			case *ast.BasicLit:
				if key, ok := keyOf(n); ok && chapters[strings.Split(key, ".")[0]] && !begins(en, key) {
					t.Errorf("%s: there is no message %s, and none that begins with it", fset.Position(n.Pos()), key)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) < 200 {
		t.Fatalf("only %d calls found", len(calls))
	}
	for _, c := range calls {
		var matched []string
		fits := false
		for _, key := range Keys("en") {
			if c.key.MatchString(key) {
				matched = append(matched, fmt.Sprintf("%s %v", key, en[key]))
				fits = fits || !c.known || slices.Equal(c.args, en[key])
			}
		}
		switch {
		case matched == nil:
			t.Errorf("%s: there is no message %s", c.at, c.key)
		case !fits:
			t.Errorf("%s: the arguments are %v, of the message %s", c.at, c.args, strings.Join(matched, ", "))
		}
	}
}

// keyOf returns the string of a literal that looks like a key.
func keyOf(n *ast.BasicLit) (string, bool) {
	if n.Kind != token.STRING {
		return "", false
	}
	key, err := strconv.Unquote(n.Value)
	isFile := slices.Contains([]string{".csv", ".json", ".txt"}, filepath.Ext(key))
	return key, err == nil && !isFile && regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$`).MatchString(key)
}

// begins reports whether key is one of a message or the first parts of one.
func begins(messages map[string][]string, key string) bool {
	for m := range messages {
		if m == key || strings.HasPrefix(m, key+".") {
			return true
		}
	}
	return false
}

// callOf returns the call of a message that n is, if it is one.
func callOf(fset *token.FileSet, n *ast.CallExpr) (call, bool) {
	var name string
	switch f := n.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	places, ok := says[name]
	if !ok || len(n.Args) < places.args {
		return call{}, false
	}
	c := call{at: fset.Position(n.Pos()).String(), known: !n.Ellipsis.IsValid() && name != "Has"}
	pattern := patternOf(n.Args[places.key])
	if name == "Word" {
		pattern += patternOf(n.Args[1])
	}
	c.key = regexp.MustCompile("^" + pattern + "$")
	if name == "Count" {
		c.args = []string{"Count"}
	}
	for _, arg := range n.Args[places.args:] {
		names, ok := argsOf(arg)
		c.args, c.known = append(c.args, names...), c.known && ok
	}
	slices.Sort(c.args)
	return c, true
}

// patternOf returns a regular expression for the keys that an expression can have: its literals, and anything
// for computed parts.
func patternOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil {
			return regexp.QuoteMeta(s)
		}
	case *ast.BinaryExpr:
		return patternOf(e.X) + patternOf(e.Y)
	case *ast.IndexExpr: // of a list of keys
		if list, ok := e.X.(*ast.CompositeLit); ok {
			var keys []string
			for _, elt := range list.Elts {
				if kv, ok := elt.(*ast.KeyValueExpr); ok {
					elt = kv.Value
				}
				keys = append(keys, patternOf(elt))
			}
			return "(" + strings.Join(keys, "|") + ")"
		}
	}
	return ".+"
}

// argsOf returns the names of the arguments that an expression spells.
func argsOf(e ast.Expr) (names []string, ok bool) {
	list, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil, false
	}
	for _, elt := range list.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok {
			name, _ := strconv.Unquote(kv.Key.(*ast.BasicLit).Value)
			names = append(names, name)
		}
	}
	return names, true
}

func TestSpeaker(t *testing.T) {
	s := In("en")
	tests := []struct {
		name      string
		got, want document.Text
	}{
		{"data is escaped", s.Say("onhost", Args{"Host": "a*b"}), ` — a\*b`},
		{"markup is not", s.Say("onhost", Args{"Host": document.Text("*a*")}), " — *a*"},
		{"plain", document.Text(s.Plain("onhost", Args{"Host": "a*b"})), " — a*b"},
		{"numbers", s.Say("setup.caches", Args{"Caches": 12}), ", caches 12"},
		{"none", s.Count("rows", 0), "0 rows"},
		{"one", s.Count("rows", 1), "1 row"},
		{"many", s.Count("rows", 21), "21 rows"},
		{"Chinese has one form", In("zh").Count("rows", 1), "1 行"},
		{"the order of a language", In("zh").Say("evidence.choice", Args{"Choice": "x", "Rows": 3}), "x（3 行）"},
		{"a word", s.Word("status.", "ok"), "ok"},
		{"no word", s.Word("status.", "a*b"), `a\*b`},
		{"a list", s.Names([]string{"a", "b"}), "`a`, `b`"},
		{"a list in Chinese", In("zh").Names([]string{"a", "b"}), "`a`、`b`"},
		{"a sentence", s.Sentence([]document.Text{"a", "b"}), "a; b. "},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", test.name, test.got, test.want)
		}
	}
}

// TestNotes checks that each note of a row has a message in Chinese with its arguments, and that other notes keep their text.
func TestNotes(t *testing.T) {
	for code, names := range note.Args() {
		var args []any
		for _, name := range names {
			args = append(args, "7"+name)
		}
		n := note.New(code, args...)
		chinese := string(In("zh").Note(n))
		if !han.MatchString(chinese) {
			t.Errorf("%s is not translated: %s", code, chinese)
		}
		for _, arg := range args {
			if !strings.Contains(chinese, arg.(string)) {
				t.Errorf("%s: %s is not in %q", code, arg, chinese)
			}
		}
		if english := string(In("en").Note(n)); english != string(document.Escape(n.Text)) {
			t.Errorf("%s: English became %q", code, english)
		}
	}
	for _, n := range []note.Note{{Text: "some *other* note"}, {Code: "new", Text: "a *newer* note"},
		{Code: "samples", Args: map[string]any{"Other": 1}, Text: "other *arguments*"}} {
		if got := In("zh").Note(n); got != document.Escape(n.Text) {
			t.Errorf("an unknown note became %q", got)
		}
	}
	if got := In("en").Note(note.New("call", "47ns")); got != "a call into the library costs about 47 ns of the median" {
		t.Errorf("a time became %q", got)
	}
}

func TestWrongCallsPanic(t *testing.T) {
	for _, test := range []struct {
		says string
		say  func()
	}{
		{"key.none", func() { In("en").Say("key.none") }},
		{"onhost", func() { In("en").Say("onhost") }},
		{"onhost", func() { In("en").Say("onhost", Args{"Host": "", "Other": ""}) }},
		{"interval", func() { In("zh").Say("interval", Args{"Intervals": ""}) }},
		{`language "x"`, func() { In("x") }},
	} {
		func() {
			defer func() {
				if message := fmt.Sprint(recover()); !strings.Contains(message, test.says) {
					t.Errorf("panic %q does not name %s", message, test.says)
				}
			}()
			test.say()
		}()
	}
}
