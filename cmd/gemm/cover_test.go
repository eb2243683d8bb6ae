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
	page, err := os.ReadFile(filepath.Join(dir, "out", "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "**课程名称**: 并行, 分布式\n\n**姓名**: 张三\n\n**学号**: 7\n"; !strings.Contains(string(page), want) {
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
