package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

var update = flag.Bool("update", false, "write the golden files")

// charts are one of each kind, with all that they can have, and more of the kinds that have kinds. The first has a
// golden file.
var charts = map[string][]Chart{
	"curve": {Curve{
		Title: "serial, f64", XLabel: "n", YLabel: "GFLOP/s", Sizes: []float64{64, 1000, 1024}, LogY: true, Top: true,
		Series: []Series{
			{"naïve <&> \"2×\"", LookOf(0), []Point{{64, 1.5, 1.4, 1.6}, {1000, 1.2, 1.2, 1.2}, {1024, 0.3, 0.2, 0.4}}},
			{"packed", LookOf(8), []Point{{64, 9, 8.5, 9.5}, {1024, 9, 9, 9}}},
		},
		Limit: Limit{118, "measured peak"},
	}, Curve{
		Title: "f64", XLabel: "intensity", YLabel: "GFLOP/s", LogY: true, Top: true, Scattered: true,
		Series: []Series{{"naive", LookOf(2), []Point{At(0.25, 1)}}, {"packed", LookOf(3), []Point{At(40, 9)}}},
		Limit:  Limit{118, "peak"},
		Slope:  Slope{15, "triad"},
	}, Curve{
		Title: "f64", XLabel: "threads", YLabel: "speed-up",
		Names: []string{"default", "2", "4"}, Limit: Limit{1, "packed"},
		Series: []Series{{"rows", LookOf(0), []Point{At(1, 1), At(2, 2), {4, 3.5, 3.4, 3.6}}},
			{"ideal", Look{Color: Mid, Marker: Bare}, []Point{At(1, 1), At(4, 4)}}},
	}},
	"lanes": {Lanes{
		Title: "summa", XLabel: "time, ms", YLabel: "rank",
		Kinds: []string{"communicate", "compute"}, Colors: Palette, Room: 12,
		Panels: []Panel{
			{Label: "summa: 3 ms", End: 3, Lanes: [][]Busy{{{0, 1, 0}, {1, 3, 1}}, {{0, 0.5, 1}, {0.5, 2, 1}}, {}}},
			{Label: "one", End: 2, Names: []string{"warps"}, Lanes: [][]Busy{{{1, 2, 1}}}},
		},
	}},
	"sketch": {Sketch{Height: 80,
		Fills: []Fill{{20, 10, 26, 26, 1}, {10, 10, 100, 50, Blank}, {46, 10, 26, 26, 1}, {20, 36, 26, 26, Strong + 2}},
		Lines: []Line{{20, 36, 72, 36, Gap}, {20, 70, 72, 70, Thin}},
		Notes: []Note{{33, 28, 17, Middle, true, "7"}, {120, 28, 18, Begin, false, "线程 <&>"}},
		Latin: &Sketch{Height: 80, Notes: []Note{{120, 28, 18, Begin, false, "thread"}}},
	}},
	"bars": {Bars{
		Title: "f64", XLabel: "times as fast", Kind: Times, Colors: Palette, Names: []string{"v1", "v3"},
		Groups: []Group{{"serial/naive", []Bar{{Point: At(0, 1)}, {Point: Point{Y: 1.5, Lo: 1.4, Hi: 16}, Color: 1}}}},
	}, Bars{
		Title: "f32", XLabel: "TFLOP/s", Colors: Palette,
		Groups: []Group{{"naive", []Bar{{Point: At(0, 0.5)}}}, {"cublas", []Bar{{Point: Point{Y: 51.2, Lo: 51, Hi: 52}}}}},
	}, Bars{
		Title: "f64", XLabel: "time, ms", Kind: Parts, Colors: Palette, Names: []string{"distribute", "compute"},
		Groups: []Group{{"mpi/p2p-rows", []Bar{{Point: At(0, 1)}, {Point: At(0, 3), Color: 1}}},
			{"mpi/summa", []Bar{{Point: At(0, 2.5)}}}},
	}, Bars{
		Title: "f64", XLabel: "times as fast", Kind: Factors, Colors: Palette,
		Groups: []Group{{"faster", []Bar{{Point: At(0, 40), From: 1}}},
			{"slower", []Bar{{Point: At(0, 20), From: 40, Color: 1}}},
			{"apart", []Bar{{Point: At(0, 3), From: 1, Color: 2}}}},
	}},
	"columns": {Columns{
		Title: "collapse-atomic", XLabel: "threads", YLabel: "time, ms", Colors: Palette, Names: []string{"n = 128", "256"},
		Mark: "OpenMP",
		Blocks: []Block{{"static", []Group{{"1", []Bar{{Point: At(0, 1), Mark: 0.5}, {Point: At(0, 8), Color: 1, Mark: 9}}},
			{"2", []Bar{{Point: At(0, 0.5)}, {Point: At(0, 4), Color: 1}}}}},
			{"dynamic", []Group{{"1", []Bar{{Point: At(0, 1.1)}, {}}}}}},
	}},
}

// each calls f for each of charts.
func each(f func(name string, ch Chart)) {
	for kind, all := range charts {
		for i, ch := range all {
			f(fmt.Sprint(kind, i), ch)
		}
	}
}

// svgOf returns the SVG document of a chart, and the texts in it.
func svgOf(t *testing.T, name string, ch Chart) (svg []byte, texts []string) {
	t.Helper()
	var b bytes.Buffer
	if err := (Drawing{Chart: ch, Title: "a <title> & more"}).SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), checkSVG(t, name, b.Bytes())
}

// TestGolden compares a chart of each kind with its golden file.
func TestGolden(t *testing.T) {
	for kind, all := range charts {
		svg, _ := svgOf(t, kind, all[0])
		golden := filepath.Join("testdata", kind+".svg")
		if *update {
			if err := os.WriteFile(golden, svg, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(svg, want) {
			t.Errorf("%s differs from %s; look at it, then run go test -update: %v", kind, golden, err)
		}
	}
}

// TestTexts checks that labels and values are in the drawings, and that what would overlap is not.
func TestTexts(t *testing.T) {
	for _, test := range []struct {
		kind    string
		at      int
		yes, no string
	}{
		{"curve", 1, "peak|triad|0.2|naive", "0.25"},
		{"curve", 2, "default|2|4|packed|ideal", ""},
		{"bars", 1, "0.500|51.2", "1.00"},
		{"bars", 2, "distribute|compute|mpi/summa|4", "3.00"},
		{"bars", 3, "×40.0|×0.500|×3.00", "40.0"},
	} {
		_, texts := svgOf(t, test.kind, charts[test.kind][test.at])
		for _, want := range strings.Split(test.yes, "|") {
			if !slices.Contains(texts, want) || slices.Contains(texts, test.no) {
				t.Errorf("%s %d: no text %q, or %q, in %q", test.kind, test.at, want, test.no, texts)
			}
		}
	}
}

// checkSVG fails unless svg is well-formed, has finite numbers only and refers to
// nothing outside of itself. It returns the texts in it.
func checkSVG(t *testing.T, name string, svg []byte) []string {
	t.Helper()
	var texts []string
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%s: not well-formed: %v", name, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			for _, a := range token.Attr {
				if a.Name.Local == "href" || a.Name.Local == "src" || strings.Contains(a.Value, "url(") {
					t.Errorf("%s: %s refers to %s", name, token.Name.Local, a.Value)
				}
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s: %s has %s=%s", name, token.Name.Local, a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			if s := strings.TrimSpace(string(token)); s != "" {
				texts = append(texts, s)
			}
		}
	}
}

// TestFormats draws every chart twice in every format: the bytes are the same. Images have the size of the chart, and
// documents no time of day.
func TestFormats(t *testing.T) {
	each(func(name string, ch Chart) {
		var b [6]bytes.Buffer
		d := Drawing{Chart: ch}
		if err := errors.Join(d.SVG(&b[0]), d.SVG(&b[1]), d.PNG(&b[2]), d.PNG(&b[3]), d.PDF(&b[4]),
			d.PDF(&b[5])); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(b); i += 2 {
			if !bytes.Equal(b[i].Bytes(), b[i+1].Bytes()) {
				t.Errorf("%s: two drawings differ", name)
			}
		}
		if pdf := b[4].Bytes(); !bytes.HasPrefix(pdf, []byte("%PDF-")) || !bytes.Contains(pdf, []byte("D:19700101000000")) {
			t.Errorf("%s: no PDF, or one with the time of day", name)
		}
		img, err := png.Decode(&b[2])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b := img.Bounds(); b.Dx() != 1000 || math.Abs(float64(b.Dy())-ch.height().Points()/72*200) > 1 {
			t.Errorf("%s is %v pixels", name, b.Max)
		}
		if r, g, b, a := img.At(0, 0).RGBA(); r&g&b&a != 0xFFFF {
			t.Errorf("%s: the corner is %v", name, img.At(0, 0))
		}
	})
}

// TestLanes checks that thousands of chunks are drawn as what can be seen, and that no part of a worker's time is
// missing.
func TestLanes(t *testing.T) {
	chunks := Lanes{Room: 150, Colors: Palette, Panels: []Panel{{Label: "many", End: 1, Lanes: make([][]Busy, 40)}}}
	for i := range chunks.Panels[0].Lanes {
		for j := range 2000 {
			chunks.Panels[0].Lanes[i] = append(chunks.Panels[0].Lanes[i], Busy{From: float64(j) / 2000,
				To: float64(j+1)/2000 - 1e-5})
		}
	}
	if svg, _ := svgOf(t, "lanes", chunks); len(svg) > 50_000 {
		t.Errorf("%d bytes", len(svg))
	}
	if h := chunks.height(); h > 4*vg.Inch {
		t.Errorf("40 workers are %v inches tall", h/vg.Inch)
	}
	for _, test := range []struct {
		lane, want []Busy
	}{
		{[]Busy{{0, 1, 0}, {1.05, 2, 0}, {2.5, 3, 0}}, []Busy{{0, 2, 0}, {2.5, 3, 0}}},
		{[]Busy{{0, 1, 0}, {1.05, 2, 1}, {2.05, 3, 1}}, []Busy{{0, 1, 0}, {1.05, 3, 1}}},
		{[]Busy{{0, 3, 0}, {1, 2, 0}}, []Busy{{0, 3, 0}}},
		{nil, nil},
	} {
		if got := seen(test.lane, 0.1); !slices.Equal(got, test.want) {
			t.Errorf("seen(%v) = %v, want %v", test.lane, got, test.want)
		}
	}
}

// TestSpread compares spread with its definition on random places.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		wanted := make([]vg.Length, 1+rng.IntN(12))
		for i := range wanted {
			wanted[i] = vg.Length(100 * rng.Float64())
		}
		slices.Sort(wanted)
		places := spread(wanted, 7, -20, 120)
		for i, p := range places {
			if p < -20-1e-9 || p > 120+1e-9 || i > 0 && p-places[i-1] < 7-1e-9 {
				t.Fatalf("spread(%v) = %v", wanted, places)
			}
			// A label is moved only where it touches another or the edge.
			alone := (i == 0 || p-places[i-1] > 7+1e-9) && (i == len(places)-1 || places[i+1]-p > 7+1e-9)
			if alone && math.Abs(float64(p-wanted[i])) > 1e-9 {
				t.Fatalf("spread(%v) = %v moves %v for nothing", wanted, places, wanted[i])
			}
		}
	}
	if got := spread([]vg.Length{10, 10}, 4, 0, 100); got[0] != 8 || got[1] != 12 {
		t.Errorf("two at 10 are spread to %v", got)
	}
}

// labels returns the labels of ticks, "" for those without.
func labels(ticks []plot.Tick) string {
	var out []string
	for _, tick := range ticks {
		out = append(out, tick.Label)
	}
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), " ")
}

func TestTicks(t *testing.T) {
	linear := func(lo, hi float64) []plot.Tick { ticks, _, _ := linearTicks(lo, hi); return ticks }
	for _, test := range []struct {
		name      string
		got, want string
	}{
		{"decades", labels(logTicks(0.3, 120)), "1 10 100"},
		{"two decades", labels(logTicks(3, 120)), "5 10 20 50 100"},
		{"tiny", labels(logTicks(0.9e-16, 0.2e-13)), "1e-16 1e-15 1e-14"},
		{"small", labels(logTicks(0.22, 0.71)), "0.3 0.4 0.5 0.6 0.7"},
		{"from zero", labels(linear(0, 1.5)), "0 0.5 1 1.5"},
		{"near one", labels(linear(0.86, 1.03)), "0.85 0.9 0.95 1"},
		{"flat", labels(linear(1, 1)), "0.94 0.96 0.98 1 1.02 1.04"},
		{"nothing", labels(linear(0, 0)), "0 0.2 0.4 0.6 0.8 1"},
		{"below zero", labels(linear(-0.1, 0.3)), "-0.1 0 0.1 0.2 0.3"},
		{"sizes", labels(sizeTicks([]float64{64, 100, 128, 1000, 1024, 2048}, 60, 2100)), "64 128 1024 2048"},
		{"one size", labels(sizeTicks([]float64{300}, 290, 310)), "300"},
		{"three digits", fmt.Sprintln(threeDigits(0), threeDigits(0.99949), threeDigits(0.9996), threeDigits(1),
			threeDigits(12.345), threeDigits(99.96), threeDigits(1234.4), threeDigits(0.001234)),
			"0 0.999 1.00 1.00 12.3 100 1234 0.00123\n"},
	} {
		if test.got != test.want {
			t.Errorf("%s: ticks %s, want %s", test.name, test.got, test.want)
		}
	}
}
