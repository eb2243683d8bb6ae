package report

import (
	"bytes"
	"cmp"
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

	"gemm"

	"gemm/compare/record"
	"gemm/compare/report/page"
	"gemm/gemmtest"
	"gemm/gemmtest/reporttest"
	"gemm/internal/note"
)

// oneOfEach has a row of every kind, a machine, measurements and a timeline.
func oneOfEach(t *testing.T) record.Document {
	doc := drawable()
	doc.Hosts[0].Topology = reporttest.Hybrid()
	doc.Records = append(doc.Records, reporttest.Kernel("smem", 512, 1e-3), reporttest.Kernel("naive", 512, 2e-3))
	doc.Measurements = append(doc.Measurements, record.Measurement{Host: "h1", Run: "r1", Name: "spin", Unit: "ns",
		Samples: []float64{1, 2, 3}, Params: map[string]any{"threads": 2}})
	doc.Traces = load(t, "parallel-xeon").Traces[:1]
	doc.Traces[0].Host, doc.Traces[0].Run = "h1", "r1"
	return doc
}

// place is where a number of a document in JSON is: its path, and its first and last byte.
type place struct {
	path     string
	from, to int
}

// numbers returns the places of all numbers in JSON, one for all elements of a list. An absent number is one.
func numbers(t *testing.T, data []byte) (all []place) {
	var walk func(d *json.Decoder, path string)
	seen := map[string]bool{}
	walk = func(d *json.Decoder, path string) {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case json.Delim:
			for d.More() {
				inner := path
				if token == '{' {
					name, _ := d.Token()
					inner += fmt.Sprint(".", name)
				}
				walk(d, inner)
			}
			d.Token()
		case json.Number, nil:
			number, _ := token.(json.Number)
			if to := int(d.InputOffset()); !seen[path] {
				seen[path] = true
				all = append(all, place{path, to - len(cmp.Or(number, "null")), to})
			}
		}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	walk(d, "")
	return all
}

// TestOddRecords sets each number of a document in turn to one that no run gives. Either reading refuses it, in one
// line with the name, or everything is rendered in bounded space and time.
func TestOddRecords(t *testing.T) {
	if testing.Short() || gemmtest.Raced {
		t.Skip("renders hundreds of reports")
	}
	data, err := oneOfEach(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	with := func(odd string, at ...place) (record.Document, error) {
		text, from := "", 0
		for _, p := range at {
			text, from = text+string(data[from:p.from])+odd, p.to
		}
		return record.Parse([]byte(text + string(data[from:])))
	}
	places := numbers(t, data)
	if len(places) < 80 {
		t.Fatalf("only %d numbers: %v", len(places), places)
	}
	refused, rendered := 0, 0
	for _, odd := range []string{"null", "0", "-1", "1e308", "1e-308", "1e999", "99999999"} {
		var read []place
		for _, at := range places {
			names := strings.Split(at.path, ".")
			if _, err := with(odd, at); err == nil {
				read = append(read, at)
			} else if refused++; strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), names[len(names)-1]) &&
				!strings.Contains(err.Error(), names[len(names)-2]) { // a map
				t.Errorf("%s = %s: %v", at.path, odd, err)
			}
		}
		rendered += len(read)
		for together := range slices.Chunk(read, 6) {
			if doc, err := with(odd, together...); err == nil {
				renderBounded(t, fmt.Sprint(together, " = ", odd), doc)
				continue
			}
			for _, at := range together { // which exclude each other
				doc, _ := with(odd, at)
				renderBounded(t, at.path+" = "+odd, doc)
			}
		}
	}
	t.Logf("%d numbers: %d documents refused, %d rendered", len(places), refused, rendered)
}

// renderBounded renders a document.
func renderBounded(t *testing.T, name string, doc record.Document) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a failsafe
	defer cancel()
	var size int
	count := writerFunc(func(p []byte) (int, error) { size += len(p); return len(p), nil })
	err := unless(ctx, func() error {
		report, appendix, drawings, err := Build(doc, Options{})
		if err != nil {
			return err
		}
		for _, p := range []*page.Page{report, appendix} {
			if err := p.HTML(count, drawings); err != nil {
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
			r.Variant, r.Reason, r.Turn = "user/"+long, gemm.Note{Text: dashes}, control
			r.Warnings = []gemm.Note{note.Read(control)}
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
