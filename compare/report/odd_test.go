package report

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm/compare"
	"gemm/compare/note"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
	"gemm/internal/gemmtest"
)

// oneOfEach has a row of every kind, a machine, measurements and a timeline.
func oneOfEach() compare.Document {
	doc := drawable()
	doc.Hosts[0].Topology = reporttest.Hybrid()
	doc.Records = append(doc.Records, reporttest.Kernel("smem", 512, 1e-3), reporttest.Kernel("naive", 512, 2e-3))
	doc.Measurements = append(doc.Measurements, compare.Measurement{Host: "h1", Run: "r1", Name: "spin", Unit: "ns",
		Samples: []float64{1, 2, 3}, Params: map[string]any{"threads": 2}})
	for _, t := range traced().Traces {
		t.Host, t.Run = "h1", "r1"
		doc.Traces = append(doc.Traces, t)
	}
	return doc
}

// numbers calls f with the path of each number in a document in JSON, once for all elements of a list, and with what
// sets it. An absent number is one.
func numbers(name string, v any, set func(any), seen map[string]bool, f func(path string, set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			numbers(name+"."+key, v[key], func(x any) { v[key] = x }, seen, f)
		}
	case []any:
		for i := range v {
			numbers(name, v[i], func(x any) { v[i] = x }, seen, f)
		}
	case float64, nil:
		if !seen[name] {
			seen[name] = true
			f(name, set)
		}
	}
}

// TestOddRecords sets each number of a document in turn to one that no run gives. Either reading refuses it, in one
// line with the name, or everything is rendered in bounded space and time.
func TestOddRecords(t *testing.T) {
	if testing.Short() || gemmtest.Raced {
		t.Skip("renders hundreds of reports")
	}
	data, err := oneOfEach().Encode()
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	list := func(f func(path string, set func(any))) {
		if err := json.Unmarshal(data, &tree); err != nil {
			t.Fatal(err)
		}
		numbers("", tree, nil, map[string]bool{}, f)
	}
	with := func(odd string, paths ...string) (compare.Document, error) {
		list(func(at string, set func(any)) {
			if slices.Contains(paths, at) {
				set(json.RawMessage(odd))
			}
		})
		var text bytes.Buffer
		writeJSON(&text, tree)
		return compare.Parse(text.Bytes())
	}
	var paths []string
	list(func(path string, _ func(any)) { paths = append(paths, path) })
	slices.Sort(paths)
	if len(paths) < 80 {
		t.Fatalf("only %d numbers: %q", len(paths), paths)
	}
	refused, rendered := 0, 0
	for _, odd := range []string{"null", "0", "-1", "1e308", "1e-308", "1e999", "99999999"} {
		var read []string
		for _, path := range paths {
			names := strings.Split(path, ".")
			if _, err := with(odd, path); err == nil {
				read = append(read, path)
			} else if refused++; strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), names[len(names)-1]) &&
				!strings.Contains(err.Error(), names[len(names)-2]) { // a map
				t.Errorf("%s = %s: %v", path, odd, err)
			}
		}
		rendered += len(read)
		for together := range slices.Chunk(read, 6) {
			if doc, err := with(odd, together...); err == nil {
				renderBounded(t, fmt.Sprint(together, " = ", odd), doc)
				continue
			}
			for _, path := range together { // which exclude each other
				doc, _ := with(odd, path)
				renderBounded(t, path+" = "+odd, doc)
			}
		}
	}
	t.Logf("%d numbers: %d documents refused, %d rendered", len(paths), refused, rendered)
}

// writeJSON writes a tree in which raw messages may be no valid numbers.
func writeJSON(w *bytes.Buffer, v any) {
	switch v := v.(type) {
	case map[string]any:
		w.WriteByte('{')
		comma := ""
		for key, x := range v {
			fmt.Fprintf(w, "%s%q:", comma, key)
			writeJSON(w, x)
			comma = ","
		}
		w.WriteByte('}')
	case []any:
		w.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				w.WriteByte(',')
			}
			writeJSON(w, x)
		}
		w.WriteByte(']')
	case json.RawMessage:
		w.Write(v)
	default:
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		w.Write(data)
	}
}

// renderBounded renders a document.
func renderBounded(t *testing.T, name string, doc compare.Document) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a failsafe
	defer cancel()
	var size int
	count := writerFunc(func(p []byte) (int, error) { size += len(p); return len(p), nil })
	err := unless(ctx, func() error {
		drawings := figures.Drawings(doc, "en")
		for _, d := range drawings {
			if err := d.SVG(count); err != nil {
				return err
			}
		}
		for _, r := range []document.Report{Build(doc, Options{}), Appendix(doc, Options{})} {
			if err := document.HTML(count, r, drawings); err != nil {
				return err
			}
		}
		return CSV(count, doc)
	})
	if err != nil || size > 32<<20 {
		t.Errorf("%s: %d bytes, %v", name, size, err)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestWriteHears ends the context when the first file is there: what is written is whole, and the rest is not.
func TestWriteHears(t *testing.T) {
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
			r.Variant, r.Reason, r.Warnings, r.Turn = "user/"+long, note.Note{Text: dashes}, []note.Note{note.Read(control)}, control
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
	of := Suite{Cover: Cover("en", []string{"name=" + long, "title=" + control})}
	if _, err := Write(t.Context(), dir, doc, WriteOptions{Formats: formats, Suite: of}); err != nil {
		t.Errorf("%.300v", err)
	}
	for file, data := range tree(t, dir) {
		switch filepath.Ext(file) {
		case ".svg", ".html", ".md", ".tex", ".csv", ".txt":
			if strings.ContainsAny(data, "\x01\x1b\u0085\uFFFE") {
				t.Errorf("%s has control characters", file)
			}
		}
		if filepath.Ext(file) != ".svg" {
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
