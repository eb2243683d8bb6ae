package drawing

import (
	"bytes"
	"strings"
	"testing"

	"gemm/compare/report/chart"
)

// TestFacts looks for texts in drawings that the sources of the kernels and the documents state.
func TestFacts(t *testing.T) {
	for name, want := range map[string]string{
		"accesses": "a warp reads 32 of A, 1 of B|a warp reads 1 of A, 32 of B|a warp reads 8 of A, 32 of B",
		"banks":    "passes: lanes 0-15: 4, a warp: 8|passes: lanes 0-15: 1, a warp: 2",
		"banks-32": "passes: 32; least: 1|passes: 1; least: 1",
		"halves":   "A thread has 4 quads of 4×4,|64 rows and 64 columns apart.",
		"index":    "C[2][2], number 10: rank 3, element 0", // figure 13 of the 2024 report
		"residues": "-227|36|-58|92",                        // 13·(−17) − 2·3 and so on
		"work":     "= 16 · 16 = 256",
	} {
		d, err := Of(name, "en")
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, n := range d.Chart.(chart.Sketch).Notes {
			texts = append(texts, n.Text)
		}
		for _, text := range strings.Split(want, "|") {
			if !strings.Contains(strings.Join(texts, "|"), text) {
				t.Errorf("%s: no text %q in %q", name, text, texts)
			}
		}
	}
	if _, err := Of("bank", "en"); err == nil || !strings.Contains(err.Error(), "banks-32") {
		t.Errorf("an unknown drawing: %v", err)
	}
}

// place is where a text is, by an estimate of its width.
func place(n chart.Note) (left, right float64) {
	wide := 0.0
	for _, r := range n.Text {
		if wide += 0.5 * float64(n.Size); r > 0x2000 {
			wide += 0.5 * float64(n.Size)
		}
	}
	left = float64(n.X) + wide*float64(n.Align)
	return left, left + wide
}

// TestFits: texts are inside of a drawing and do not overlap, those in PDF documents are Latin-1, and files are small.
func TestFits(t *testing.T) {
	total := 0
	for _, name := range Names() {
		for _, lang := range []string{"en", "zh"} {
			d, err := Of(name, lang)
			if err != nil {
				t.Fatal(err)
			}
			var svg bytes.Buffer
			if err := d.SVG(&svg); err != nil || svg.Len() > 12<<10 {
				t.Errorf("%s: %d bytes, %v", d.ID, svg.Len(), err)
			}
			total += svg.Len()
			notes := d.Chart.(chart.Sketch).Notes
			for i, n := range notes {
				left, right := place(n)
				if left < -8 || right > 728 || strings.Contains(n.Text, "{") {
					t.Errorf("%s: %q is from %.0f to %.0f", d.ID, n.Text, left, right)
				}
				if lang == "en" && strings.ContainsFunc(n.Text, func(r rune) bool { return r > 0xFF }) {
					t.Errorf("%s: %q is not Latin-1", d.ID, n.Text)
				}
				for _, other := range notes[:i] {
					l, r := place(other)
					if max(n.Y-other.Y, other.Y-n.Y) < letter-3 && left < r && l < right {
						t.Errorf("%s: %q overlaps %q", d.ID, n.Text, other.Text)
					}
				}
			}
		}
	}
	if total > 150_000 {
		t.Errorf("%d bytes in all", total)
	}
}
