package page

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"go.yaml.in/yaml/v3"
)

// Column says what of each row a column of a table prints, and how.
type Column struct {
	// Field is of the row: names of fields and methods, joined by dots. "." is the row.
	Field string `yaml:"field"`
	// Head is the head by language.
	Head map[string]string `yaml:",inline"`
	// Format is a function of templates that is given the value, after arguments that stand behind its name. Default:
	// the value as it is.
	Format string `yaml:"format"`
	// Align is right for numbers.
	Align string `yaml:"align"`
	// Each is a field or method of the table's data. There is a column for each of its values: Field, a method, gets the
	// value, and %v in the head stands for it.
	Each string `yaml:"each"`
	// Absent says that the column is left out if no row has a value.
	Absent bool `yaml:"absent"`
}

// Tables are specifications of tables by name.
type Tables map[string][]Column

// Read adds the tables of a file.
func (t Tables) Read(data []byte) error {
	more := Tables{}
	if err := yaml.Unmarshal(data, &more); err != nil {
		return err
	}
	for name, columns := range more {
		if t[name] != nil {
			return fmt.Errorf("table %s is there twice", name)
		}
		t[name] = columns
	}
	return nil
}

// classed is a row that is not like others.
type classed interface {
	Class() string // best, wrong, muted or empty
}

// Table returns the table called name of rows as Markdown, nothing if there are no rows. data is a slice of rows, or
// has them in a field or method Rows; columns with Each need that. funcs has the formats.
func (t Tables) Table(name, lang string, data any, funcs map[string]any) (Text, error) {
	columns, ok := t[name]
	if !ok {
		return "", fmt.Errorf("there is no table %q%s", name, nearest(name, slices.Collect(maps.Keys(t))))
	}
	rows := reflect.ValueOf(data)
	if rows.Kind() != reflect.Slice {
		var err error
		if rows, err = follow(rows, "Rows"); err != nil {
			return "", err
		}
	}
	if !rows.IsValid() || rows.Len() == 0 {
		return "", nil
	}
	var heads, rules []string
	cells := make([][]string, rows.Len())
	for _, c := range columns {
		keys := []reflect.Value{{}}
		if c.Each != "" {
			each, err := follow(reflect.ValueOf(data), c.Each)
			if err != nil {
				return "", fmt.Errorf("table %s: %w", name, err)
			}
			keys = nil
			for i := range each.Len() {
				keys = append(keys, each.Index(i))
			}
		}
		for _, key := range keys {
			head, column, some, err := c.column(lang, key, rows, funcs)
			if err != nil {
				return "", fmt.Errorf("table %s, column %s: %w", name, c.Field, err)
			}
			if c.Absent && !some {
				continue
			}
			rule := ":--"
			if c.Align == "right" {
				rule = "--:"
			}
			heads, rules = append(heads, string(head)), append(rules, rule)
			for i := range cells {
				cells[i] = append(cells[i], column[i])
			}
		}
	}
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	b.WriteString("\n\n")
	line(heads)
	line(rules)
	for i := range cells {
		if marked, ok := rows.Index(i).Interface().(classed); ok {
			mark(cells[i], marked.Class())
		}
		line(cells[i])
	}
	b.WriteString("\n")
	return Text(b.String()), nil
}

// asterisks surround the cells of rows of a class.
var asterisks = map[string]string{"best": "**", "wrong": "***", "muted": "*"}

// mark asterisks the cells of a row of a class.
func mark(cells []string, class string) {
	for i, cell := range cells {
		if cell != "" && cell != absent && !strings.Contains(cell, "*") {
			cells[i] = asterisks[class] + cell + asterisks[class]
		}
	}
}

// classOf returns the class of a row of a table by the asterisks of its first cell.
func classOf(row ast.Node) string {
	first, ok := row.FirstChild().FirstChild().(*ast.Emphasis)
	switch {
	case !ok || row.Kind() != east.KindTableRow || first != row.FirstChild().LastChild():
		return ""
	case first.Level == 2:
		return "best"
	case first.ChildCount() == 1 && first.FirstChild().Kind() == ast.KindEmphasis:
		return "wrong"
	}
	return "muted"
}

// absent stands for a value that is not there.
const absent = "—"

// column returns the head and the cells of a column, and whether any has a value.
func (c Column) column(lang string, key, rows reflect.Value,
	funcs map[string]any) (head Text, cells []string, some bool, err error) {
	head = Escape(c.Head[lang])
	if key.IsValid() {
		head = Escape(strings.ReplaceAll(c.Head[lang], "%v", fmt.Sprint(key.Interface())))
	}
	cells = make([]string, rows.Len())
	for i := range cells {
		value, err := follow(rows.Index(i), c.Field, key)
		if err != nil {
			return "", nil, false, err
		}
		text, err := c.format(value, funcs)
		if err != nil {
			return "", nil, false, err
		}
		cells[i] = cmp.Or(strings.ReplaceAll(pipe(text), "\n", " "), absent)
		some = some || cells[i] != absent
	}
	return head, cells, some, nil
}

// pipe returns text with its pipes escaped, in code too, where they end a cell as well.
func pipe(text Text) string {
	var b strings.Builder
	fence := "" // of the code that begins before i
	for i := 0; i < len(text); {
		run := len(text[i:]) - len(strings.TrimLeft(string(text[i:]), "`"))
		switch {
		case run > 0 && fence == "":
			fence = string(text[i : i+run])
		case run > 0 && run == len(fence):
			fence = ""
		case run == 0 && text[i] == '\\' && fence == "" && i+1 < len(text): // the next character is escaped already
			run = 2
		case run == 0 && text[i] == '|':
			b.WriteByte('\\')
		}
		run = max(run, 1)
		b.WriteString(string(text[i : i+run]))
		i += run
	}
	return b.String()
}

func (c Column) format(value reflect.Value, funcs map[string]any) (Text, error) {
	if !value.IsValid() {
		return absent, nil
	}
	words := strings.Fields(c.Format)
	if len(words) == 0 {
		return Markdown(value.Interface()), nil
	}
	f := reflect.ValueOf(funcs[words[0]])
	if !f.IsValid() {
		return "", fmt.Errorf("there is no format %q", words[0])
	}
	var args []reflect.Value
	for _, word := range words[1:] {
		args = append(args, reflect.ValueOf(word))
	}
	if in := f.Type().In(len(args)); value.Type() != in && value.Type().ConvertibleTo(in) {
		value = value.Convert(in)
	}
	out := f.Call(append(args, value))
	return Markdown(out[0].Interface()), nil
}

// follow returns what a path of fields and methods leads to, "." to the value itself. The last one is called with the
// argument if it takes one.
func follow(v reflect.Value, path string, arg ...reflect.Value) (reflect.Value, error) {
	if path == "." {
		return v, nil
	}
	for _, name := range strings.Split(path, ".") {
		for v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return reflect.Value{}, nil
		}
		m := v.MethodByName(name)
		if !m.IsValid() && v.Kind() != reflect.Pointer && v.CanAddr() {
			m = v.Addr().MethodByName(name)
		}
		if m.IsValid() {
			v = m.Call(arg[:min(m.Type().NumIn(), len(arg))])[0]
			continue
		}
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() == reflect.Map {
			if v = v.MapIndex(reflect.ValueOf(name)); v.Kind() == reflect.Interface {
				v = v.Elem()
			}
			continue
		}
		if v.Kind() != reflect.Struct || !v.FieldByName(name).IsValid() {
			return reflect.Value{}, fmt.Errorf("%v has no field %s", v.Type(), name)
		}
		v = v.FieldByName(name)
	}
	return v, nil
}
