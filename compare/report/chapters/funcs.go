package chapters

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/number"
	"gemm/compare/report/page"
	"gemm/internal/note"
)

//go:embed en/*.md zh/*.md tables/*.yaml words.yaml
var files embed.FS

// Languages are the languages of reports.
var Languages = []string{"en", "zh"}

// words are the words for values of records, by group, value and language.
type words map[string]map[string]map[string]string

// loaded returns the words and the tables, which are part of the program: an error in one is an error of the program.
var loaded = sync.OnceValues(func() (words, page.Tables) {
	w, t := words{}, page.Tables{}
	err := yaml.Unmarshal(embedded("words.yaml")[0].data, &w)
	for _, f := range embedded("tables/*.yaml") {
		err = cmp.Or(err, t.Read(f.data))
	}
	if err != nil {
		panic(fmt.Sprintf("chapters: words or tables: %v", err))
	}
	return w, t
})

type file struct {
	name string // of the template in it
	data []byte
}

// embedded returns the files that match a pattern, in the order of their paths.
func embedded(pattern string) (all []file) {
	names, _ := fs.Glob(files, pattern)
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		all = append(all, file{Name(name), data})
	}
	return all
}

// Templates returns the chapters in a language: each is a template by the name of its file without number and ending,
// and report includes all in their order.
func Templates(lang string) (*page.Templates, error) {
	t := page.New(Funcs(lang))
	var all strings.Builder
	for _, f := range embedded(lang + "/*.md") {
		if f.name != "appendix" {
			fmt.Fprintf(&all, "{{template %q .}}\n\n", f.name)
		}
		if err := t.Add(f.name, string(f.data)); err != nil {
			return nil, err
		}
	}
	return t, t.Add("report", all.String())
}

// Word returns the word for a value in a language, or the value itself if there is none.
func Word(lang, group, value string) string {
	w, _ := loaded()
	return cmp.Or(w[group][value][lang], value)
}

// Words returns the words that writers of pages add.
func Words(lang string) page.Words {
	word := func(value string) string { return Word(lang, "page", value) }
	return page.Words{Contents: word("contents"), Figure: word("figure"), Table: word("table"),
		Algorithm: word("algorithm"), Stop: word("stop"), Filter: word("filter"), Rows: word("rows")}
}

// Builtin returns the chapters of the suite in a language as one template.
func Builtin(lang string) string {
	var all strings.Builder
	for _, f := range embedded(lang + "/*.md") {
		if f.name != "appendix" {
			fmt.Fprintf(&all, "{{/* %s */}}\n%s\n", f.name, f.data)
		}
	}
	return all.String()
}

// Name returns the name of the template in a file.
func Name(file string) string {
	name := strings.TrimSuffix(path.Base(file), ".md")
	return strings.TrimLeft(name, "0123456789-")
}

// formatter is what functions of templates need to know: the language.
type formatter struct {
	lang  string
	words words
	funcs map[string]any
}

// Funcs returns the functions of templates in a language.
func Funcs(lang string) map[string]any {
	w, tables := loaded()
	s := &formatter{lang: lang, words: w}
	code := func(x any) page.Text { return page.Code(fmt.Sprint(x)) }
	s.funcs = map[string]any{
		// Text.
		"code":   code,
		"codes":  func(names []string) page.Text { return s.list(names, code) },
		"list":   func(items any) page.Text { return s.list(items, page.Markdown) },
		"count":  s.count,
		"word":   s.word,
		"note":   s.note,
		"reason": s.reason,
		"link":   page.Link,
		"fence":  page.Fence,
		"dict":   dict,
		"spaced": spaced,
		"known":  func(text string) string { return strings.Replace(text, number.Absent, "", 1) },
		"table":  func(name string, data any) (page.Text, error) { return tables.Table(name, lang, data, s.funcs) },
		// Numbers.
		"sig":      func(x any) string { return number.Significant(float(x)) },
		"percent":  func(x any) string { return number.Percent(float(x)) },
		"share":    func(x any) string { return number.Share(float(x)) },
		"ofpeak":   func(x any) string { return number.OfPeak(float(x)) },
		"seconds":  func(x any) string { return number.Seconds(float(x)) },
		"bytes":    func(x any) string { return number.ByteSize(float(x)) },
		"mean":     mean,
		"times":    func(c analysis.Comparison) string { return number.Times(c.Ratio, c.Lo, c.Hi) },
		"moment":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"revision": number.Revision,
		// Rows.
		"rate":   s.rate,
		"speed":  s.speed,
		"place":  s.place,
		"size":   func(x any) string { return s.sizes([]analysis.Problem{problem(x)}) },
		"sizes":  s.sizes,
		"median": func(r record.Record) string { return number.Seconds(analysis.Known(r, r.Median)) },
		"time":   func(r record.Record) string { return number.Seconds(analysis.HostTime(r)) },
		"peak":   func(r record.Record) string { return peak(r, analysis.HostShare(r)) },
		"short":  func(variant string) page.Text { return page.Code(analysis.Short(variant)) },
		"name":   name,
		// Claims.
		"said":     func(text map[string]string) page.Text { return page.Text(text[lang]) },
		"evidence": s.evidence,
		// Package report has the drawings.
		"drawing": func(string) page.Text { return "" },
	}
	return s.funcs
}

func float(x any) float64 {
	v := reflect.ValueOf(x)
	if t := reflect.TypeFor[float64](); x != nil && v.CanConvert(t) && v.Kind() != reflect.String {
		return v.Convert(t).Float()
	}
	return math.NaN()
}

// list joins the items of a slice with the language's comma.
func (s *formatter) list(items any, as func(any) page.Text) page.Text {
	v := reflect.ValueOf(items)
	texts := make([]page.Text, v.Len())
	for i := range texts {
		texts[i] = as(v.Index(i).Interface())
	}
	return page.Join(texts, string(s.word("mark", "list")))
}

// count says how many things there are: "2 rows". English nouns take an s.
func (s *formatter) count(n int, noun string) string {
	if s.lang == "en" && n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

// word returns the word for a value, or the value itself if there is none.
func (s *formatter) word(group string, value any) page.Text {
	key := fmt.Sprint(value)
	if text, ok := s.words[group][key][s.lang]; ok {
		return page.Text(text)
	}
	return page.Escape(key)
}

// duration is a time as Go prints it, without the space before its unit.
var duration = regexp.MustCompile(`^([0-9.]+)(ns|µs|ms|s)$`)

// note returns a warning or a reason in the language: the words of its code if there are any, and otherwise its text.
func (s *formatter) note(n record.Note) string {
	text := strings.TrimSuffix(n.Text, ".")
	said, ok := s.words["note"][n.Code][s.lang]
	var values []string
	for name, value := range n.Args {
		plain := fmt.Sprint(value)
		spaced := duration.ReplaceAllString(plain, "$1 $2")
		if inner, ok := nested(value); ok {
			spaced = s.note(inner)
		} else if status := s.words["status"][plain][s.lang]; name == "Status" && status != "" {
			spaced = strings.Trim(status, "*")
		}
		text = strings.ReplaceAll(text, plain, spaced)
		ok = ok && strings.Contains(said, "{"+name+"}")
		values = append(values, "{"+name+"}", spaced)
	}
	if ok && 2*strings.Count(said, "{") == len(values) {
		return strings.NewReplacer(values...).Replace(said)
	}
	return text
}

// nested returns the note that is an argument of another one, also as its text or read from a file.
func nested(value any) (n record.Note, ok bool) {
	if text, plain := value.(string); plain {
		n = note.Read(text)
		return n, n.Code != ""
	}
	data, err := json.Marshal(value)
	return n, err == nil && json.Unmarshal(data, &n) == nil && n.Text != ""
}

// reason returns the words for the reason of a gain, with its values.
func (s *formatter) reason(g analysis.Gain) page.Text {
	text, known := s.words["reason"][string(g.Reason())][s.lang]
	if !known {
		return number.Absent
	}
	if c := g.Counted; c != nil {
		if c.Work != "" {
			text += s.words["reason"]["worked"][s.lang]
		}
		return page.Text(strings.NewReplacer("{State}", string(s.word("stall", c.State)),
			"{Before}", number.Significant(c.Before), "{After}", number.Significant(c.After),
			"{Work}", string(s.word("work", c.Work)),
			"{From}", number.Significant(c.From), "{To}", number.Significant(c.To)).Replace(text))
	}
	for name, value := range g.Values() {
		text = strings.ReplaceAll(text, "{"+name+"}", strconv.FormatFloat(math.Round(100*value)/100, 'f', -1, 64))
	}
	return page.Text(text)
}

// dict returns its arguments, which alternate names and values, for a template that takes several values.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict: %v has no value", pairs[len(pairs)-1])
	}
	m := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		m[fmt.Sprint(pair[0])] = pair[1]
	}
	return m, nil
}

// spaced returns at most n items of a slice: the first, the last, and some between.
func spaced(n int, items any) any {
	v := reflect.ValueOf(items)
	if v.Len() <= n || n < 2 {
		return items
	}
	out := reflect.MakeSlice(v.Type(), 0, n)
	for i := range n {
		out = reflect.Append(out, v.Index(i*(v.Len()-1)/(n-1)))
	}
	return out.Interface()
}

// rate returns the speed of a row, of a GPU with the copies, with an asterisk if its samples vary too much.
func (s *formatter) rate(r record.Record) page.Text {
	rate, _ := analysis.Speed(r)
	text := page.Text(number.Significant(float64(rate) * float64(r.Median) / analysis.HostTime(r)))
	if r.Speed() && analysis.Wide(r) {
		text += `\*`
	}
	return text
}

func (s *formatter) speed(r record.Record) page.Text {
	_, unit := analysis.Speed(r)
	return s.rate(r) + page.Text(" "+unit)
}

// place says on what a row ran: threads, ranks or the GPU.
func (s *formatter) place(r record.Record) page.Text {
	n, noun, more := max(r.Threads, 1), "thread", page.Text("")
	switch {
	case analysis.ByGPU(r):
		return "GPU"
	case analysis.Family(r.Variant) == analysis.OnRanks || analysis.Of(r).Location == gemm.OnRanks:
		n, noun = analysis.OverRanks.Count(r), "rank"
		if helpers, ok := r.Resolved["helpers"].(int); ok && helpers > 0 {
			more = s.word("place", "helpers")
		}
	}
	return page.Text(s.count(n, string(s.word("place", noun)))) + more
}

// problem returns the case of a row, or x if it is one.
func problem(x any) analysis.Problem {
	switch x := x.(type) {
	case analysis.Problem:
		return x
	case record.Record:
		return analysis.ProblemOf(x)
	case *record.Record:
		return analysis.ProblemOf(*x)
	}
	panic(fmt.Sprintf("chapters: %T has no size", x))
}

// mostListed is the number of square sizes up to which sizes lists all.
const mostListed = 8

// sizes returns problems as "n = 64, 128" for cubes, followed by the other shapes. Of many cubes it returns the first,
// the last and their number.
func (s *formatter) sizes(ps []analysis.Problem) string {
	var cubes, others []string
	for _, p := range ps {
		if p.Cube() && p.Label() == fmt.Sprint(p.N) {
			cubes = append(cubes, fmt.Sprint(p.N))
		} else {
			others = append(others, p.Label())
		}
	}
	if len(cubes) > mostListed {
		cubes = []string{fmt.Sprintf(string(s.word("mark", "many")), cubes[0], cubes[len(cubes)-1], len(cubes))}
	}
	if len(cubes) > 0 {
		cubes[0] = "n = " + cubes[0]
	}
	return strings.Join(append(cubes, others...), string(s.word("mark", "list")))
}

// peak returns a row's percent of the peak. A row that takes several products for one has their number before the
// percent of each.
func peak(r record.Record, percent float64) string {
	text := number.OfPeak(percent)
	if n := analysis.Products(r); n > 1 && text != number.Absent {
		return fmt.Sprintf("%d × %s", n, text)
	}
	return text
}

// name returns a row's variant and the parameters that it was asked to have.
func name(r record.Record) page.Text {
	text := page.Code(r.Variant)
	if len(r.Params) > 0 {
		text += " " + page.Escape(r.Params.String())
	}
	return text
}

// mean is a mean ratio, half its 95 % interval, and the number of shapes if some are missing.
func mean(m analysis.Mean) string {
	text := number.Significant(m.Ratio)
	if half := 100 * (math.Sqrt(m.Hi/m.Lo) - 1); half >= 0 {
		text += " ±" + strconv.FormatFloat(half, 'f', max(0, 1-int(half/10)), 64)
	}
	if m.Count > 0 && m.Count < m.Of {
		text += fmt.Sprintf(" [%d]", m.Count)
	}
	return text
}
