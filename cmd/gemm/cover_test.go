package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCover makes a report with a cover page, and refuses fields that there are not.
func TestCover(t *testing.T) {
	dir := t.TempDir()
	succeed(t, dir, "serial", "--variants", "serial/naive", "--sizes", "8", "--time", "1ms", "--json", "r.json")
	succeed(t, dir, "report", "--in", "r.json", "--format", "md", "--lang", "zh", "--out", "out",
		"--cover", "name=张三,course=并行, 分布式", "--cover", "id=7")
	page := read(t, filepath.Join(dir, "out", "report.md"))
	if want := "**课程名称**: 并行, 分布式\n\n**姓名**: 张三\n\n**学号**: 7\n"; !strings.Contains(page, want) {
		t.Errorf("no %q in %.300s", want, page)
	}
	for field, want := range map[string]string{"nobody=x": "there is no field nobody", "name": "must be FIELD=TEXT",
		"name=": "must be FIELD=TEXT", "name=x,nobody=y": "there is no field nobody"} {
		if r := start(t, dir, nil, "report", "--in", "r.json", "--cover", field); r.status != 2 ||
			!strings.Contains(r.stderr, want) {
			t.Errorf("--cover %s: status %d, %s", field, r.status, r.stderr)
		}
	}
}

// TestTemplate fills the built-in template as one of the user, and refuses a wrong one before anything is written.
func TestTemplate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	succeed(t, dir, "serial", "--sizes", "16", "--reps", "1", "--time", "1ms", "--json", "r.json")
	printed := succeed(t, dir, "report", "--template", "print", "--lang", "zh")
	write(t, filepath.Join(dir, "mine.md"), printed.stdout)
	succeed(t, dir, "report", "--in", "r.json", "--format", "md", "--lang", "zh", "--out", "a")
	succeed(t, dir, "report", "--in", "r.json", "--format", "md", "--lang", "zh", "--out", "b", "--template", "mine.md")
	a, err := os.ReadFile(filepath.Join(dir, "a", "report.md"))
	b, err2 := os.ReadFile(filepath.Join(dir, "b", "report.md"))
	if err != nil || err2 != nil || string(a) != string(b) {
		t.Errorf("the printed template makes another report: %d and %d bytes, %v, %v", len(a), len(b), err, err2)
	}
	for source, want := range map[string]string{
		"# x\n\n{{range .Hots}}{{end}}\n": "mine.md:3:", "{{tabel}}": "the nearest is table",
	} {
		write(t, filepath.Join(dir, "mine.md"), source)
		r := start(t, dir, nil, "report", "--in", "r.json", "--template", "mine.md", "--out", "c")
		if r.status != 1 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "the nearest is") ||
			!strings.Contains(r.stderr, want) {
			t.Errorf("%q: status %d, %s, want %s", source, r.status, r.stderr, want)
		}
		if _, err := os.Stat(filepath.Join(dir, "c")); err == nil {
			t.Errorf("%q: a folder is written", source)
		}
	}
}
