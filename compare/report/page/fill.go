package page

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/agnivade/levenshtein"
)

// Templates are templates of Markdown by name, each of which can include the others.
type Templates struct {
	set    *template.Template
	funcs  template.FuncMap
	nested int // calls of section that are going on
}

// New returns no templates yet, with the functions that they can call. A function that returns Text returns
// Markdown; what others return is data.
func New(funcs map[string]any) *Templates {
	t := &Templates{}
	t.funcs = template.FuncMap{markdown: Markdown, "section": t.section}
	maps.Copy(t.funcs, funcs)
	t.set = template.New("").Option("missingkey=error").Funcs(t.funcs)
	return t
}

// Func replaces a function that templates can call.
func (t *Templates) Func(name string, f any) { t.set.Funcs(template.FuncMap{name: f}) }

// markdown is the function that the output of every action passes.
const markdown = "_markdown"

// Add parses a template. name stands in errors.
func (t *Templates) Add(name, source string) error {
	if m := inCode.FindStringSubmatchIndex(source); m != nil {
		line := 1 + strings.Count(source[:m[0]], "\n")
		return fmt.Errorf("template %s:%d: data in code is not escaped: use {{code %s}}", name, line,
			strings.TrimSpace(source[m[2]:m[3]]))
	}
	if _, err := t.set.New(name).Parse(source); err != nil {
		return t.explained(err, nil)
	}
	for _, one := range t.set.Templates() {
		if one.Tree != nil {
			escape(one.Root)
		}
	}
	return nil
}

// Fill executes the template called name on data.
func (t *Templates) Fill(name string, data any) (Text, error) {
	var b limited
	if err := t.set.ExecuteTemplate(&b, name, data); err != nil {
		return "", t.explained(err, data)
	}
	return Text(blank.ReplaceAllString(b.String(), "\n\n")), nil
}

// limited is what a template prints, unless that is too long.
type limited struct{ bytes.Buffer }

// most is the number of bytes that a template prints at most.
const most = 32 << 20

func (b *limited) Write(p []byte) (int, error) {
	if b.Len()+len(p) > most {
		return 0, fmt.Errorf("it prints more than %d MiB", most>>20)
	}
	return b.Buffer.Write(p)
}

// inCode matches an action in a span of code.
var inCode = regexp.MustCompile("`\\{\\{-? *([^`{}]*?) *-?\\}\\}")

// deepest is how deep sections can include each other.
const deepest = 10

// section returns the text below the heading with an anchor in a template that is filled with data, nothing if it is
// not there. Headings in it become sections.
func (t *Templates) section(name, id string, data any) (Text, error) {
	if t.nested == deepest {
		return "", errors.New("sections include each other without end")
	}
	t.nested++
	defer func() { t.nested-- }()
	text, err := t.Fill(name, data)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	level, fence := 0, ""
	for line := range strings.Lines(string(text)) {
		bare := strings.TrimSuffix(line, "\n")
		if m := fenceLine.FindStringSubmatch(bare); m != nil && fence == "" {
			fence = m[1]
		} else if bare == fence {
			fence = ""
		} else if m := headingLine.FindStringSubmatch(bare); m != nil && fence == "" {
			own := len(m[1])
			if level > 0 && own <= level {
				break
			}
			if m[3] == id {
				level = own
				continue
			}
			line = strings.Repeat("#", 2+max(0, own-level)) + line[own:]
		}
		if level > 0 {
			b.WriteString(line)
		}
	}
	return Text(strings.TrimSpace(b.String())), nil
}

// blank matches several blank lines, or lines of blanks.
var blank = regexp.MustCompile(`\n([ \t]*\n){2,}`)

// escape makes every action of lists escape what it prints.
func escape(lists ...*parse.ListNode) {
	for _, list := range lists {
		if list == nil {
			continue
		}
		for _, n := range list.Nodes {
			switch n := n.(type) {
			case *parse.ActionNode:
				if last := n.Pipe.Cmds[len(n.Pipe.Cmds)-1]; len(n.Pipe.Decl) == 0 && last.String() != markdown {
					n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos,
						Args: []parse.Node{parse.NewIdentifier(markdown).SetPos(n.Pos)}})
				}
			case *parse.IfNode:
				escape(n.List, n.ElseList)
			case *parse.RangeNode:
				escape(n.List, n.ElseList)
			case *parse.WithNode:
				escape(n.List, n.ElseList)
			}
		}
	}
}

var (
	wrongField = regexp.MustCompile(`can't evaluate field (\w+) in type (\S+)`)
	wrongName  = regexp.MustCompile(`function "(\w+)" not defined`)
	prefix     = regexp.MustCompile(`^template: `)
)

// explained returns an error of a template with the nearest field or function to the wrong one.
func (t *Templates) explained(err error, data any) error {
	text := prefix.ReplaceAllString(err.Error(), "")
	var names []string
	var wrong string
	if m := wrongField.FindStringSubmatch(text); m != nil {
		wrong = m[1]
		for of := range Reachable(reflect.TypeOf(data)) {
			if of.String() == m[2] {
				names = append(names, members(of)...)
			}
		}
	} else if m := wrongName.FindStringSubmatch(text); m != nil {
		wrong = m[1]
		names = slices.Collect(maps.Keys(t.funcs))
	}
	return fmt.Errorf("template %s%s", strings.ReplaceAll(text, "\n", " "), nearest(wrong, names))
}

// nearest says which name is the nearest to a wrong one, nothing if there are no names.
func nearest(wrong string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; the nearest is " + slices.MinFunc(names, func(a, b string) int {
		return cmp.Compare(levenshtein.ComputeDistance(wrong, a), levenshtein.ComputeDistance(wrong, b))
	})
}

func members(of reflect.Type) []string {
	var names []string
	for i := range of.NumMethod() {
		names = append(names, of.Method(i).Name)
	}
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(of) {
			if f.IsExported() {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// Reachable returns the types that a template can reach from one.
func Reachable(of reflect.Type) map[reflect.Type]bool {
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		if of == nil || seen[of] {
			return
		}
		seen[of] = true
		for i := range of.NumMethod() {
			if m := of.Method(i).Type; m.NumOut() > 0 {
				visit(m.Out(0))
			}
		}
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			visit(of.Elem())
		case reflect.Struct:
			for _, f := range reflect.VisibleFields(of) {
				if f.IsExported() {
					visit(f.Type)
				}
			}
		}
	}
	visit(of)
	return seen
}
