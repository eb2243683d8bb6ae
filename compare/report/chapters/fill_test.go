package chapters_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/record"
	"gemm/compare/report/chapters"
	"gemm/gemmtest/reporttest"
	"gemm/internal/note"
)

// fill returns the report of records in a language as Markdown. All figures are there. Both languages must have the
// same sections, figures, tables and numbers.
func fill(t *testing.T, lang string, doc record.Document, change ...func(*chapters.Data)) string {
	t.Helper()
	texts, shapes := map[string]string{}, map[string]string{}
	for _, lang := range chapters.Languages {
		texts[lang] = filled(t, lang, `{{template "report" .}}`, doc, change...)
		shapes[lang] = shape(texts[lang])
	}
	if shapes["en"] != shapes["zh"] {
		t.Errorf("English and Chinese differ: %s", reporttest.FirstDifference(shapes["en"], shapes["zh"]))
	}
	for en, zh := range translations {
		if n, m := strings.Count(texts["en"], en), strings.Count(texts["zh"], zh); n != m {
			t.Errorf("%d times %q, %d times %q", n, en, m, zh)
		}
	}
	return texts[lang]
}

// translations are words of verdicts, which both languages must say equally often.
var translations = map[string]string{
	"**faster than**": "**快于**", "**slower than**": "**慢于**", "**level with**": "**无显著差异**",
	"No library was timed": "没有测量线程数相同的第三方库", "identical code were not measured": "没有测量相同代码的时间差异",
	"the GPU is faster than": "GPU 快于", "the GPU is not faster": "GPU 不快于", "| supported |": "| 支持 |",
	"**supported**": "**支持**", "**reversed**": "**结果相反**", "faster at every common size": "各共同规模上都更快",
	"slower at the largest": "规模上较慢", "level at the largest": "规模上无显著差异",
	"was not interleaved with our": "未与本项目交替测量", "kernels is correct": "每一行都正确", " than dynamic.": " dynamic 调度。",
}

var (
	literal = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|\\]\\([^)]*\\)")
	figure  = regexp.MustCompile(`[0-9.]+[0-9]`)
)

// shape returns what does not depend on the language: anchors and figures, and the numbers of each row of a table and
// of the prose of each section.
func shape(text string) string {
	var out strings.Builder
	var prose []string
	for line := range strings.Lines(text + "\n# end {#end}\n") {
		switch m := heading.FindStringSubmatch(strings.TrimSpace(line)); {
		case m != nil:
			slices.Sort(prose)
			fmt.Fprintln(&out, slices.Compact(prose), m[1], m[2])
			prose = nil
		case strings.HasPrefix(line, "!["):
			fmt.Fprint(&out, line[strings.LastIndex(line, "("):])
		case strings.HasPrefix(line, "|"):
			fmt.Fprintln(&out, strings.Count(line, "|"), figure.FindAllString(line, -1))
		default:
			prose = append(prose, figure.FindAllString(literal.ReplaceAllString(line, ""), -1)...)
		}
	}
	return out.String()
}

// filled returns a template filled with records.
func filled(t *testing.T, lang, source string, doc record.Document, change ...func(*chapters.Data)) string {
	t.Helper()
	set, err := chapters.Templates(lang)
	if err != nil {
		t.Fatal(err)
	}
	data := chapters.NewData(doc.Declared(catalog.Variants()), "", nil)
	for _, f := range change {
		f(data)
	}
	if err := set.Add("test", source); err != nil {
		t.Fatal(err)
	}
	text, err := set.Fill("test", data)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// change changes a row.
type change = func(*record.Record)

var (
	row, planted, with, many = reporttest.Row, reporttest.Planted, reporttest.With, reporttest.Many
	kernel, copied           = reporttest.Kernel, reporttest.Copied
	status, sampled, inTurn  = reporttest.WithStatus, reporttest.Sampled, reporttest.Turn
	experiment               = reporttest.Experiment
	threadsOf, ranksOf       = reporttest.ThreadsOf, reporttest.OnRanks
)

// on gives a row threads.
func on(threads int) change { return func(r *record.Record) { r.Threads = threads } }

// ran makes a row one of a recursion that its cut-off ended before the first division, if n is not greater.
func ran(cutoff int) change {
	return func(r *record.Record) {
		if r.Resolved = (gemm.Params{"cutoff": cutoff}); r.N <= cutoff {
			r.Resolved["ran"] = "serial/packed"
		}
	}
}

// wide makes the samples of a row vary too much.
func wide(r *record.Record) {
	r.Warnings = []note.Note{note.Read("wide spread: repeat on a quiet machine")}
}

// joined returns the records of documents as one, on the hosts h1, h2 and so on.
func joined(docs ...record.Document) record.Document {
	out := docs[0]
	for i, d := range docs[1:] {
		host, run := d.Hosts[0], d.Runs[0]
		host.ID = fmt.Sprint("h", i+2)
		host.CPU, run.ID, run.Host = "CPU "+host.ID, "r"+host.ID, host.ID
		for _, r := range d.Records {
			r.Host, r.Run = host.ID, run.ID
			out.Records = append(out.Records, r)
		}
		out.Hosts, out.Runs = append(out.Hosts, host), append(out.Runs, run)
	}
	return out
}

var heading = regexp.MustCompile(`(?m)^(#+) .*\{#([^}]+)\}$`)

// section returns the text of the section with an anchor, with its subsections, and fails if there is none.
func section(t *testing.T, text, id string) string {
	t.Helper()
	all := heading.FindAllStringSubmatchIndex(text, -1)
	for i, at := range all {
		if text[at[4]:at[5]] != id {
			continue
		}
		end := len(text)
		for _, next := range all[i+1:] {
			if next[3]-next[2] <= at[3]-at[2] {
				end = next[0]
				break
			}
		}
		return text[at[1]:end]
	}
	t.Fatalf("there is no section %s in\n%s", id, text)
	return ""
}

// has fails unless text, with single spaces, has all parts.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// hasNot fails if text, with single spaces, has one of the parts.
func hasNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in\n%s", part, text)
		}
	}
}

// said is what a section of the report of records must say, and must not.
type said struct {
	id        string
	doc       record.Document
	want, not []string
}

func (s said) check(t *testing.T) {
	t.Helper()
	text := section(t, fill(t, "en", s.doc), s.id)
	has(t, text, s.want...)
	hasNot(t, text, append(s.not, "NaN", "Inf", "%!", "<no value>")...)
}

// TestAbsent: a family that did not run is one line, with the reason if there is one.
func TestAbsent(t *testing.T) {
	packed := row("parallel/packed", 256, 1e-3, threadsOf(record.MainLadder, 2))
	apart, field := packed, packed
	apart.Experiment, apart.Shape = record.ChunkSizes, gemm.Shape{M: 3, N: 5, K: 7}
	field.Type, field.Unit, field.Rate, field.Gflops = "gf256", "Gmul/s", 3, record.None()
	tuned := kernel("tuned", 64, 1e-3, func(r *record.Record) { r.Type, r.Compute = "gf256", "gf256" })
	missing, noMPI := status(record.Unavailable, "no driver: install it"), status(record.Unavailable, "built without MPI")
	noRanks := row("mpi/summa", 256, 1, ranksOf("strong", 2), noMPI)
	line := []string{"#", "math", "|", "```"}
	const never = "This family was not measured. To measure it: `gemm compare --families "
	for _, test := range []said{
		{"paper-serial", planted(row("parallel/rows", 64, 1, on(2))), []string{never + "serial`."}, line},
		{"paper-serial", planted(row("serial/ikj", 64, 1, experiment("strong"))), []string{`\tag{25}`,
			"The rows of this family are in the [appendix](appendix#rows)."}, nil},
		{"paper-parallel", many(), []string{never + "parallel`"}, line},
		{"paper-parallel", many(field), []string{"Only products over GF(2⁸) were measured."}, line},
		{"paper-parallel", many(packed, field), []string{"{#parallel-analysis}", `\tag{27}`, "n = 256, f64",
			"gflops-parallel-f64"}, []string{"measured.", "```algorithm", "{#openmp}", "Strong scaling"}},
		{"parallel-measurements", many(apart), []string{"The rows are in the [appendix](appendix#rows)."}, nil},
		{"paper-mpi", with(), []string{never + "mpi`"}, line},
		{"paper-mpi", with(noRanks), []string{"could not run here: built without MPI"}, line},
		{"paper-mpi", with(noRanks, onRanks("summa", 2, 1)), []string{"{#mpi-analysis}", `\tag{26}`}, nil},
		{"paper-cuda", with(kernel("naive", 64, 1, missing), kernel("smem", 64, 1, missing)), []string{"This family " +
			"could not run here: no driver: install it. To measure it elsewhere: `gemm compare --families cuda`."}, line},
		{"paper-cuda", with(tuned), []string{"Only products over GF(2⁸) were measured."}, line},
		{"paper-cuda", with(kernel("naive", 64, 1e-3), kernel("smem", 64, 1, missing)),
			[]string{"{#cuda-analysis}", "| `naive` |"}, nil},
	} {
		test.check(t)
	}
}
