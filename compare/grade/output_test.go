package grade_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gemm/compare/grade"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/gemmtest/reporttest"
	"gemm/internal/note"
)

// hostile is a name and a message that mean something in HTML, Markdown, XML, CSV and terminals.
const hostile = "=1+2|<script>alert(1)</script> `x` ]]> & \"a\", *b* \x1b[31m\x00\xff ```\n# 张三"

// class returns a right submission, one that is wrong at odd n, one that does not compile, and one whose times cannot
// be true.
func class(lang string) grade.Class {
	c := grade.Class{Assignment: grade.Assignment{Title: "Square dgemm", Language: lang, Rubric: []grade.Criterion{
		{Name: "Right", Points: 10, Right: "all"}, {Name: "Odd", Points: 2.5, Right: "hidden", Whole: true},
		{Name: "Speed", Points: 10, Speed: "reference/openblas", From: 0.1, To: 0.5},
		{Name: "Peak", Points: 5, Speed: "peak", From: 0.01, To: 0.4}}}}
	add := func(name string, fault note.Note, compiler string, points [4]float64, values [4]float64, why []note.Note,
		rows ...record.Record) {
		r := grade.Result{Submission: name, Fault: fault, Compiler: compiler, Most: 27.5}
		for i, criterion := range c.Assignment.Rubric {
			m := grade.Mark{Criterion: criterion.Name, Points: points[i], Most: criterion.Points,
				Value: record.Number(values[i])}
			if points[i] < criterion.Points {
				m.Why = why
			}
			if i == 2 && m.Value.Known() {
				m.Interval = &[2]float64{0.9 * values[i], 1.1 * values[i]}
			}
			r.Marks, r.Points = append(r.Marks, m), r.Points+m.Points
		}
		for _, row := range rows {
			base := reporttest.Row("reference/openblas", row.N, 2e-9*float64(row.N*row.N*row.N)/30)
			row.Variant, row.Ceiling, base.Ceiling = "user/"+name, 40, 40
			r.Rows = append(r.Rows, row, base)
		}
		c.Results = append(c.Results, r)
	}
	row := func(n int, change ...func(*record.Record)) record.Record {
		return reporttest.Row("user/x", n, 2e-10*float64(n*n*n), change...)
	}
	reason := func(status record.Status, code string, args ...any) func(*record.Record) {
		return reporttest.WithStatus(status, note.New(code, args...).Text)
	}
	const residual = "residual 0.4 exceeds the componentwise bound 0: element (64, 0) is 0, want 7"
	none := float64(record.None())
	add("王小明 - right", note.Note{}, "", [4]float64{10, 2.5, 6, 5}, [4]float64{1, 1, 0.333, 0.5}, nil, row(64), row(65),
		row(128))
	add("-odd", note.Note{}, hostile, [4]float64{5, 0, 0, 0}, [4]float64{0.5, 0, none, none},
		[]note.Note{note.New("grade-row", "33", record.Wrong, note.New("kernel-behind", "C", 3)),
			note.New("grade-row", "65", record.Wrong, note.New("wrong-integers", residual))}, row(64), row(128),
		row(33, reason(record.Wrong, "kernel-behind", "C", 3)),
		row(63, reason(record.Wrong, "kernel-behind", "C", 3)),
		row(65, reason(record.Wrong, "wrong-integers", residual)))
	add(hostile, note.Read("it does not compile: "+hostile), "x.c:1: error: "+hostile, [4]float64{},
		[4]float64{none, none, none, none}, []note.Note{note.Read(hostile)})
	add("suspect", note.Note{}, "", [4]float64{5, 2.5, 0, 0}, [4]float64{0.5, 1, none, none},
		[]note.Note{note.New("peak", 7, 40, "GFLOP/s")}, row(64),
		row(128, reason(record.Suspect, "peak", 7, 40, "GFLOP/s")))
	return c
}

// written returns the files that Write writes of a class, by their paths.
func written(t *testing.T, c grade.Class) map[string]string {
	t.Helper()
	folder := t.TempDir()
	gemmtest.Must(t, grade.Write(folder, c))
	all := map[string]string{}
	gemmtest.Must(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return all
}

// fileOf is a name that a folder can have.
func fileOf(c *grade.Class) {
	c.Results[2].Submission = strings.NewReplacer("\x00", "", "/", "").Replace(c.Results[2].Submission)
}

func TestFeedback(t *testing.T) {
	for _, lang := range []string{"en", "zh"} {
		c := class(lang)
		fileOf(&c)
		files := written(t, c)
		var golden bytes.Buffer
		show := func(name string) { fmt.Fprintf(&golden, "==== %q\n%s", name, files[name]) }
		for _, r := range c.Results {
			name := r.Submission + "/"
			show(name + "feedback.md")
			if err := reporttest.CheckHTML(files[name+"feedback.html"], lang); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, drawn := files[name+"figures/speed.svg"]; drawn != (r.Fault.Text == "" && len(r.Rows) > 2) {
				t.Errorf("%s: drawn is %v", name, drawn)
			}
		}
		show("grades-moodle.csv")
		show("grades-canvas.csv")
		show("-odd/results.json")
		reporttest.Golden(t, "feedback."+lang+".golden", golden.Bytes())
		if err := reporttest.CheckHTML(files["leaderboard.html"], lang); err != nil {
			t.Error(err)
		}
		for name, text := range files {
			if strings.HasSuffix(name, ".html") && strings.Contains(text, "<script>alert") {
				t.Errorf("%s has an element of the submission", name)
			}
		}
	}
}

func TestLeaderboard(t *testing.T) {
	c := class("en")
	fileOf(&c)
	for board, want := range map[string]int{"": 1, "named": 1, "anonymous": 0, "none": 0} {
		c.Assignment.Leaderboard = board
		page, there := written(t, c)["leaderboard.html"]
		if strings.Count(page, "王小明") != want || there == (board == "none") {
			t.Errorf("%q: it is there: %v, it names a student: %v", board, there, strings.Contains(page, "王小明"))
		}
	}
}

// TestGradescope reads results.json with the published members and no others.
func TestGradescope(t *testing.T) {
	c := class("en")
	fileOf(&c)
	type extra = map[string]any
	for name, text := range written(t, c) {
		if filepath.Base(name) != "results.json" {
			continue
		}
		var got struct {
			Score            *float64 `json:"score"`
			ExecutionTime    float64  `json:"execution_time"`
			Output           string   `json:"output"`
			OutputFormat     string   `json:"output_format"`
			TestOutputFormat string   `json:"test_output_format"`
			TestNameFormat   string   `json:"test_name_format"`
			Visibility       string   `json:"visibility"`
			Stdout           string   `json:"stdout_visibility"`
			Extra            extra    `json:"extra_data"`
			Tests            []struct {
				Score        *float64 `json:"score"`
				MaxScore     *float64 `json:"max_score"`
				Status       string   `json:"status"`
				Name         string   `json:"name"`
				NameFormat   string   `json:"name_format"`
				Number       string   `json:"number"`
				Output       string   `json:"output"`
				OutputFormat string   `json:"output_format"`
				Tags         []string `json:"tags"`
				Visibility   string   `json:"visibility"`
				Extra        extra    `json:"extra_data"`
			} `json:"tests"`
			Leaderboard []struct {
				Name  string `json:"name"`
				Value any    `json:"value"`
				Order string `json:"order"`
			} `json:"leaderboard"`
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		gemmtest.Must(t, d.Decode(&got))
		formats := []string{"", "text", "html", "simple_format", "md", "ansi"}
		visible := []string{"", "hidden", "after_due_date", "after_published", "visible"}
		sum := 0.0
		ok := got.Score != nil && len(got.Tests) == 4 && slices.Contains(formats, got.OutputFormat) &&
			slices.Contains(visible, got.Visibility) && got.Output != ""
		for _, test := range got.Tests {
			passed := map[string]bool{"passed": true, "failed": false}
			ok = ok && test.Score != nil && test.MaxScore != nil && test.Name != "" && test.Output != "" &&
				slices.Contains(formats, test.OutputFormat) && slices.Contains(visible, test.Visibility)
			if want, known := passed[test.Status]; ok && (!known || want != (*test.Score == *test.MaxScore)) {
				t.Errorf("%s: test %s is %s", name, test.Name, test.Status)
			}
			sum += *test.Score
		}
		if !ok || sum != *got.Score {
			t.Errorf("%s is not of the published form:\n%s", name, text)
		}
	}
}

// TestTables reads the other files of a class, with names that spreadsheets and XML would evaluate.
func TestTables(t *testing.T) {
	c := class("en")
	fileOf(&c)
	c.Assignment.Title = "@SUM(A1)"
	files := written(t, c)
	for _, name := range []string{"grades-moodle.csv", "grades-canvas.csv"} {
		rows, err := csv.NewReader(strings.NewReader(files[name])).ReadAll()
		gemmtest.Must(t, err)
		for _, cells := range rows {
			for _, cell := range cells {
				if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
					t.Errorf("%s: a spreadsheet evaluates %q", name, cell)
				}
			}
		}
		if want := len(c.Results) + 1 + strings.Count(name, "canvas"); len(rows) != want {
			t.Errorf("%s has %d rows, want %d", name, len(rows), want)
		}
	}
	d, cases := xml.NewDecoder(strings.NewReader(files["junit.xml"])), 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		gemmtest.Must(t, err)
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "testcase" {
			cases++
		}
	}
	if cases != 16 || !strings.Contains(files["junit.xml"], `tests="16" failures="12"`) {
		t.Errorf("junit.xml has %d cases:\n%s", cases, files["junit.xml"])
	}
	var again grade.Class
	gemmtest.Must(t, json.Unmarshal([]byte(files["class.json"]), &again))
	if len(again.Results) != 4 || again.Results[1].Rows[0].N != 64 {
		t.Errorf("class.json has %d results", len(again.Results))
	}
}

// TestWriteFaults: a name that leaves the folder is an error, and the others are written.
func TestWriteFaults(t *testing.T) {
	c := class("en")
	c.Results[0].Submission, c.Results[2].Submission = "../x", "y"
	folder := t.TempDir()
	if err := grade.Write(folder, c); err == nil || !strings.Contains(err.Error(), `"../x"`) {
		t.Errorf("a name that leaves the folder: %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "suspect", "feedback.html")); err != nil {
		t.Error(err)
	}
	c.Assignment.Language = "fr"
	if err := grade.Write(folder, c); err == nil {
		t.Error("there is French")
	}
}
