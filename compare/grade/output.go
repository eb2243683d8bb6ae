package grade

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gemm/compare/report/chart"
	"gemm/internal/output"
)

// Write writes the marks of a class into a folder: class.json, leaderboard.html, junit.xml, grades-moodle.csv and
// grades-canvas.csv, and what WriteOne writes of each submission into the folder of its name. A file is replaced as a
// whole or not at all. An error in one submission does not stop the others.
func Write(folder string, c Class) error {
	var errs []error
	for _, r := range c.Results {
		if !filepath.IsLocal(r.Submission) {
			errs = append(errs, fmt.Errorf("grade: submission %q is no folder of the class", r.Submission))
			continue
		}
		errs = append(errs, WriteOne(folderOf(folder, r.Submission), c, r))
	}
	p := newPages(c)
	files := map[string]func(io.Writer) error{
		"class.json": asJSON(c), "junit.xml": p.junit(c), "grades-moodle.csv": p.moodle(c),
		"grades-canvas.csv": canvas(c),
	}
	if board := c.Assignment.Leaderboard; board != "none" {
		files["leaderboard.html"] = func(w io.Writer) error {
			return p.fill("leaderboard", map[string]any{"Assignment": c.Assignment, "Results": c.Results,
				"Ranked": c.ranked(), "Anonymous": board == "anonymous"}).HTML(w, nil)
		}
	}
	errs = append(errs, writeFiles(folder, files), p.err)
	return errors.Join(errs...)
}

// folderOf returns the folder of the results of a submission, which may have the name of a file of the class.
func folderOf(out, submission string) string {
	switch submission {
	case "class.json", "junit.xml", "grades-moodle.csv", "grades-canvas.csv", "leaderboard.html":
		submission += ".folder"
	}
	return filepath.Join(out, submission)
}

// WriteOne writes the marks of a result of a class into a folder: feedback.md and feedback.html with figures/speed.svg,
// and results.json in the form of Gradescope.
func WriteOne(folder string, c Class, r Result) error {
	p, s := newPages(c), c.standing(r)
	feedback := p.fill("feedback", s)
	drawing := chart.Drawing{ID: figureID, Title: "speed", Chart: s.curve()}
	files := map[string]func(io.Writer) error{
		"feedback.md":   feedback.Markdown,
		"feedback.html": func(w io.Writer) error { return feedback.HTML(w, []chart.Drawing{drawing}) },
		"results.json":  asJSON(p.gradescope(s)),
	}
	if id := s.Figure(); id != "" {
		files["figures/"+id+".svg"] = drawing.SVG
	}
	if p.err != nil {
		return p.err
	}
	return writeFiles(folder, files)
}

// writeFiles writes files into a folder, all or none of them.
func writeFiles(folder string, files map[string]func(io.Writer) error) error {
	var g output.Group
	defer g.Discard()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		file, err := g.Create(path, output.Permissions)
		if err != nil {
			return err
		}
		if err := files[name](file); err != nil {
			return err
		}
	}
	return g.Commit(context.Background())
}

func asJSON(value any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(value)
	}
}

// The form of results.json: gradescope-autograders.readthedocs.io/en/latest/specs, Output format.
type (
	scopeResults struct {
		Score        float64      `json:"score"`
		Output       string       `json:"output"`
		OutputFormat string       `json:"output_format"`
		Visibility   string       `json:"visibility"`
		Tests        []scopeTest  `json:"tests"`
		Leaderboard  []scopeValue `json:"leaderboard"`
	}
	scopeTest struct {
		Score        float64 `json:"score"`
		MaxScore     float64 `json:"max_score"`
		Status       string  `json:"status"`
		Name         string  `json:"name"`
		Output       string  `json:"output"`
		OutputFormat string  `json:"output_format"`
		Visibility   string  `json:"visibility"`
	}
	scopeValue struct {
		Name  string  `json:"name"`
		Value float64 `json:"value"`
	}
)

// gradescope returns a result for Gradescope.
func (p *pages) gradescope(s standing) scopeResults {
	const text = "text"
	out := scopeResults{Score: s.Points, Output: p.fill("first", s).Plain(), OutputFormat: text, Visibility: "visible",
		Tests: []scopeTest{}, Leaderboard: []scopeValue{{"Points", s.Points}}}
	for _, m := range s.Marked() {
		t := scopeTest{m.Points, m.Most, "passed", m.Criterion, p.fill("why", m).Plain(), text, "visible"}
		if m.Points < m.Most {
			t.Status = "failed"
		}
		out.Tests = append(out.Tests, t)
		if m.Rule.Speed != "" && m.Known() {
			out.Leaderboard = append(out.Leaderboard, scopeValue{m.Criterion, float64(m.Value)})
		}
	}
	return out
}

// The form of JUnit's reports, as CI servers read them: github.com/testmoapp/junitxml.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
		Out      string      `xml:"system-out,omitempty"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit writes a test suite for each submission and a test case for each criterion, which fails below all points.
func (p *pages) junit(c Class) func(io.Writer) error {
	all := junitSuites{Name: c.Assignment.Title}
	for _, r := range c.Results {
		suite := junitSuite{Name: r.Submission, Out: r.Compiler}
		for _, m := range c.standing(r).Marked() {
			one := junitCase{Class: r.Submission, Name: m.Criterion}
			if m.Points < m.Most {
				points := plainNumber(m.Points) + " / " + plainNumber(m.Most)
				one.Failure = &junitFailure{points, p.fill("why", m).Plain()}
				suite.Failures++
			}
			suite.Cases = append(suite.Cases, one)
		}
		suite.Tests = len(suite.Cases)
		all.Tests, all.Failures = all.Tests+suite.Tests, all.Failures+suite.Failures
		all.Suites = append(all.Suites, suite)
	}
	return func(w io.Writer) error {
		if _, err := io.WriteString(w, xml.Header); err != nil {
			return err
		}
		e := xml.NewEncoder(w)
		e.Indent("", "  ")
		return e.Encode(all)
	}
}

// moodle writes the grades as Moodle imports them: a column that identifies the student, the points, and feedback
// (docs.moodle.org, Grade import).
func (p *pages) moodle(c Class) func(io.Writer) error {
	rows := [][]string{{"Username", c.Assignment.Title, "Feedback"}}
	for _, r := range c.Results {
		first := p.fill("first", c.standing(r)).Plain()
		rows = append(rows, []string{r.Submission, plainNumber(r.Points), strings.ReplaceAll(first, "\n", " ")})
	}
	return asCSV(rows)
}

// canvas writes the grades as Canvas imports them: Student, ID, SIS Login ID and Section in this order, then the
// assignment, whose points are in the first row (canvas-lms, lib/gradebook_importer.rb).
func canvas(c Class) func(io.Writer) error {
	most := 0.0
	for _, criterion := range c.Assignment.Rubric {
		most += criterion.Points
	}
	rows := [][]string{{"Student", "ID", "SIS Login ID", "Section", c.Assignment.Title},
		{"Points Possible", "", "", "", plainNumber(most)}}
	for _, r := range c.Results {
		rows = append(rows, []string{r.Submission, "", r.Submission, "", plainNumber(r.Points)})
	}
	return asCSV(rows)
}

func asCSV(rows [][]string) func(io.Writer) error {
	return func(w io.Writer) error {
		out := csv.NewWriter(w)
		for _, cells := range rows {
			for i := range cells {
				cells[i] = output.Cell(cells[i])
			}
			if err := out.Write(cells); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	}
}
