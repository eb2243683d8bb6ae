package report

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm/compare/record"
	"gemm/compare/report/page"
	"gemm/gemmtest"
	"gemm/gemmtest/reporttest"
	"gemm/internal/note"
)

// oneOfEach has a row of every kind, measurements and a timeline.
func oneOfEach(t *testing.T) record.Document {
	doc := drawable()
	doc.Records = append(doc.Records, reporttest.Kernel("smem", 512, 1e-3), reporttest.Kernel("naive", 512, 2e-3))
	doc.Measurements = append(doc.Measurements, record.Measurement{Host: "h1", Run: "r1", Name: "spin", Unit: "ns",
		Samples: []float64{1, 2, 3}, Params: map[string]any{"threads": 2}})
	doc.Traces = load(t, "parallel-xeon").Traces[:1]
	doc.Traces[0].Host, doc.Traces[0].Run = "h1", "r1"
	return doc
}

// numbers returns what sets each number of a document in JSON, by its path: one for all elements of a list.
func numbers(at any, path string, set func(any), all map[string]func(any)) {
	switch at := at.(type) {
	case map[string]any:
		for name, value := range at {
			numbers(value, path+"."+name, func(x any) { at[name] = x }, all)
		}
	case []any:
		for i := range at {
			numbers(at[i], path, func(x any) { at[i] = x }, all)
		}
	case float64, nil:
		if all[path] == nil {
			all[path] = func(x any) { set(cmp.Or[any](x, at)) }
		}
	}
}

// TestOddRecords sets each number of a document to numbers that no run gives. Either reading refuses it, in one line
// with the name, or everything is rendered in bounded space and time.
func TestOddRecords(t *testing.T) {
	if testing.Short() || gemmtest.Raced {
		t.Skip("renders hundreds of reports")
	}
	data, err := oneOfEach(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	set := map[string]func(any){}
	numbers(tree, "", nil, set)
	if len(set) < 80 {
		t.Fatalf("only %d numbers", len(set))
	}
	with := func(odd any, paths ...string) (record.Document, error) {
		for _, path := range paths {
			set[path](odd)
			defer set[path](nil)
		}
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		return record.Parse(text)
	}
	refused, rendered := 0, 0
	for _, odd := range []string{"null", "0", "-1", "1e308", "1e-308", "1e999", "99999999"} {
		value := any(json.RawMessage(odd))
		var read []string
		for _, path := range slices.Sorted(maps.Keys(set)) {
			names := strings.Split(path, ".")
			if _, err := with(value, path); err == nil {
				read = append(read, path)
			} else if refused++; strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), names[len(names)-1]) &&
				!strings.Contains(err.Error(), names[len(names)-2]) { // a map
				t.Errorf("%s = %s: %v", path, odd, err)
			}
		}
		rendered += len(read)
		for together := range slices.Chunk(read, 6) {
			if doc, err := with(value, together...); err == nil {
				renderBounded(t, fmt.Sprint(together, " = ", odd), doc)
				continue
			}
			for _, path := range together { // which exclude each other
				doc, _ := with(value, path)
				renderBounded(t, path+" = "+odd, doc)
			}
		}
	}
	t.Logf("%d numbers: %d documents refused, %d rendered", len(set), refused, rendered)
}

func renderBounded(t *testing.T, name string, doc record.Document) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a failsafe
	defer cancel()
	var out bytes.Buffer
	err := unless(ctx, func() error {
		report, appendix, drawings, err := Build(doc, Options{})
		if err != nil {
			return err
		}
		for _, p := range []*page.Page{report, appendix} {
			if err := p.HTML(&out, drawings); err != nil {
				return err
			}
		}
		return CSV(&out, doc)
	})
	if err != nil || out.Len() > 32<<20 {
		t.Errorf("%s: %d bytes, %v", name, out.Len(), err)
	}
}

// TestWriteStopsWithContext ends the context when the first file is there: what is written is whole, and the rest is
// not.
func TestWriteStopsWithContext(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	if _, err := Write(t.Context(), whole, drawable(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(dir, "figures")); err == nil {
				cancel()
				return
			}
			runtime.Gosched()
		}
	}()
	if paths, err := Write(ctx, dir, drawable(), WriteOptions{}); err != context.Canceled {
		t.Errorf("%v, of %d files", err, len(paths))
	}
	want, got := tree(t, whole), tree(t, dir)
	if len(got) == len(want) {
		t.Error("all files were written")
	}
	for name, data := range got {
		if data != want[name] {
			t.Errorf("%s is another file", name)
		}
	}
	if _, err := Write(ctx, filepath.Join(dir, "none"), drawable(), WriteOptions{}); err != context.Canceled {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestOddWords renders records whose words are long or have control characters, in every format.
func TestOddWords(t *testing.T) {
	if testing.Short() {
		t.Skip("runs xelatex for seconds")
	}
	long, dashes, control := strings.Repeat("w", 1000), strings.Repeat("-", 1000), "a\x01\x1b[31m\u0085\uFFFEz"
	doc := drawable()
	for i := range doc.Records {
		if r := &doc.Records[i]; r.Variant == "serial/naive" {
			r.Variant, r.Reason, r.Turn = "user/"+long, note.Note{Text: dashes}, control
			r.Warnings = []note.Note{note.Read(control)}
			r.Resolved = map[string]any{"leaf": long, "ran": control}
		}
	}
	doc.Records[0].Variant = "serial/" + control
	doc.Hosts[0].CPU, doc.Runs[0].Command = control+long, "gemm "+dashes
	doc.Records[2].Reason.Text = "no library " + long
	formats := Formats()
	if _, err := exec.LookPath("xelatex"); err != nil {
		formats = slices.DeleteFunc(formats, func(f string) bool { return f == "pdf" })
	}
	dir := t.TempDir()
	of := Options{Cover: Cover("en", []string{"name=" + long, "title=" + control})}
	if _, err := Write(t.Context(), dir, doc, WriteOptions{Formats: formats, Options: of}); err != nil {
		t.Errorf("%.300v", err)
	}
	for file, data := range tree(t, dir) {
		ext := filepath.Ext(file)
		if strings.Contains(".svg.html.md.tex.csv.txt", ext) && strings.ContainsAny(data, "\x01\x1b\u0085\uFFFE") {
			t.Errorf("%s has control characters", file)
		}
		if ext != ".svg" {
			continue
		}
		for decoder := xml.NewDecoder(strings.NewReader(data)); ; {
			if _, err := decoder.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
}
