package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"image/color"
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

// charts are one of each kind, with all that they can have.
var charts = map[string]Chart{
	"curve": Curve{
		Title: "serial, f64", XLabel: "n", YLabel: "GFLOP/s", Sizes: []float64{64, 1000, 1024}, LogY: true, Top: true,
		Series: []Series{
			{"naïve <&> \"2×\"", LookOf(0), []Point{{64, 1.5, 1.4, 1.6}, {1000, 1.2, 1.2, 1.2}, {1024, 0.3, 0.2, 0.4}}},
			{"packed", LookOf(8), []Point{{64, 9, 8.5, 9.5}, {1024, 9, 9, 9}}},
		},
		Limit: Limit{118, "measured peak"},
	},
	"ratio": Curve{
		Title: "f64", XLabel: "n", YLabel: "ratio", Sizes: []float64{64, 128},
		Series: []Series{{"strassen", LookOf(4), []Point{{64, 0.9, 0.9, 0.9}, {128, 1.1, 1, 1.2}}}},
		Limit:  Limit{1, "packed"},
	},
	"roofline": Curve{
		Title: "f64", XLabel: "intensity", YLabel: "GFLOP/s", LogY: true, Top: true, Scattered: true,
		Series: []Series{{"naive", LookOf(2), []Point{{0.25, 1, 1, 1}}}, {"packed", LookOf(3), []Point{{40, 9, 9, 9}}}},
		Limit:  Limit{118, "peak"},
		Slope:  Slope{15, "triad"},
	},
	"ideal": Curve{
		Title: "f64", XLabel: "threads", YLabel: "speed-up", Sizes: []float64{1, 2, 4},
		Names: []string{"default", "2", "4"}, LogY: true,
		Series: []Series{{"rows", LookOf(0), []Point{{1, 1, 1, 1}, {4, 3.5, 3.4, 3.6}}},
			{"ideal", Look{Color: Mid, Marker: Bare}, []Point{{1, 1, 1, 1}, {4, 4, 4, 4}}}},
	},
	"lanes": Lanes{
		Title: "rows", XLabel: "time, ms",
		Panels: []Panel{
			{Label: "static: 3 ms", End: 3, Lanes: [][]Busy{{{To: 1}}, {{To: 1.5}, {From: 1.5, To: 2.8}}}},
			{Label: "dynamic: 2 ms", End: 2, Lanes: [][]Busy{{{To: 0.5}, {From: 0.5, To: 1}, {From: 1.2, To: 1.9}}, {}}},
		},
	},
	"phases": Lanes{
		Title: "summa", XLabel: "time, ms", YLabel: "rank",
		Kinds: []string{"communicate", "compute"}, Colors: Palette, Room: 12,
		Panels: []Panel{
			{Label: "summa: 3 ms", End: 3, Lanes: [][]Busy{{{0, 1, 0}, {1, 3, 1}}, {{0, 0.5, 1}, {0.5, 2, 0}}, {}}},
		},
	},
	"grid": Grid{Title: "swizzle", Fields: []Field{
		{Label: "memory", Rows: [][]Cell{{{"0", 0}, {"1", 1}}, {{"0", 0}, {"1", 1}}}},
		{Label: "shared memory", Wide: 2, Rows: [][]Cell{{{"0", 0}, {"1", 1}}, {{"1", 1}, {"0", 8}}}},
	}},
	"boxes": Boxes{
		Title: "machine", Names: []string{"w0 is worker 0"},
		Boxes: []Box{
			{Lines: []string{"close"}, Frame: Unframed, Inner: [][]Box{
				{{Lines: []string{"node 0"}, Inner: [][]Box{{
					{Lines: []string{"0: w0"}, Frame: Coloured}, {Lines: []string{"1"}, Room: "1: w0", Frame: Muted},
				}}}, {Lines: []string{"node 1", "2 MiB"}}},
				{{Lines: []string{"a GPU with a name that takes more than half of the drawing"}},
					{Lines: []string{"another"}}},
			}},
			{Lines: []string{"none: the system chooses"}, Frame: Unframed},
		},
	},
	"stacks": Stacks{
		Title: "f64", XLabel: "time, ms", Colors: Palette, Names: []string{"distribute", "skew", "compute"},
		Stacks: []Stack{{"mpi/p2p-rows", []float64{1, 0, 3}}, {"mpi/summa", []float64{0, 0, 2.5}}},
	},
	"bars": Bars{
		Title: "f64", XLabel: "times as fast", Colors: Palette, Names: []string{"v1", "v3"},
		Groups: []Group{{"serial/naive", []Bar{{Point{Y: 1, Lo: 1, Hi: 1}, 0}, {Point{Y: 1.5, Lo: 1.4, Hi: 16}, 1}}}},
	},
	"columns": Columns{
		Title: "collapse-atomic", XLabel: "threads", YLabel: "time, ms", Colors: Palette,
		Names: []string{"n = 128", "256"},
		Mark:  "OpenMP",
		Blocks: []ColumnBlock{{"static", []ColumnGroup{{"1", []Column{{1, 0.5}, {8, 9}}},
			{"2", []Column{{0.5, 0}, {4, 0}}}}},
			{"dynamic", []ColumnGroup{{"1", []Column{{1.1, 0}, {}}}}}},
	},
	"rates": Bars{
		Title: "f32", XLabel: "TFLOP/s", Rates: true, Colors: Palette,
		Groups: []Group{{"naive", []Bar{{Point{Y: 0.5, Lo: 0.5, Hi: 0.5}, 0}}},
			{"cublas", []Bar{{Point{Y: 51.2, Lo: 51, Hi: 52}, 1}}}},
	},
	"log bars": Bars{
		Title: "f64", XLabel: "times as fast", Log: true, Colors: Palette,
		Groups: []Group{{"slower", []Bar{{Point{Y: 0.5, Lo: 0.5, Hi: 0.5}, 0}}},
			{"faster", []Bar{{Point{Y: 250, Lo: 240, Hi: 260}, 1}}}},
	},
}

// TestSVG compares every kind of chart with what it was when somebody looked.
func TestSVG(t *testing.T) {
	for name, ch := range charts {
		var svg bytes.Buffer
		if err := SVG(&svg, ch, "a <title> & more"); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".svg")
		if *update {
			if err := os.WriteFile(golden, svg.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(svg.Bytes(), want) {
			t.Errorf("%s differs from %s; look at it, then run go test -update", name, golden)
		}
		texts := checkSVG(t, name, svg.Bytes())
		if !slices.Contains(texts, "a <title> & more") {
			t.Errorf("%s: no title among %q", name, texts)
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

// TestLabels checks that every label is in the SVG, and that checkSVG finds a label that is
// missing.
func TestLabels(t *testing.T) {
	var svg bytes.Buffer
	if err := SVG(&svg, charts["curve"], ""); err != nil {
		t.Fatal(err)
	}
	texts := checkSVG(t, "curve", svg.Bytes())
	for _, want := range []string{"serial, f64", "n", "GFLOP/s", "64", "1024", `naïve <&> "2×"`, "packed", "measured peak",
		"1", "100"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no text %q in %q", want, texts)
		}
	}
	if slices.Contains(texts, "1000") {
		t.Error("the ticks 1000 and 1024 overlap")
	}
}

// TestSameBytes draws every chart twice in every format.
func TestSameBytes(t *testing.T) {
	formats := map[string]func(io.Writer, Chart) error{
		"svg": func(w io.Writer, ch Chart) error { return SVG(w, ch, "") }, "png": PNG, "pdf": PDF,
	}
	for name, ch := range charts {
		for format, draw := range formats {
			var first, second bytes.Buffer
			if err := errors.Join(draw(&first, ch), draw(&second, ch)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("%s: two %s of it differ", name, format)
			}
		}
	}
}

// TestPNG checks the size of the chart, that a corner is white, and that something is drawn.
func TestPNG(t *testing.T) {
	for name, ch := range charts {
		var buf bytes.Buffer
		if err := PNG(&buf, ch); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&buf)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b := img.Bounds(); b.Dx() != 1000 || math.Abs(float64(b.Dy())-ch.height().Points()/72*200) > 1 {
			t.Errorf("%s is %v pixels", name, b.Max)
		}
		seen := map[color.Color]bool{}
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				seen[img.At(x, y)] = true
			}
		}
		if r, g, b, a := img.At(0, 0).RGBA(); r&g&b&a != 0xFFFF || len(seen) < 10 {
			t.Errorf("%s: corner %v, %d colours", name, img.At(0, 0), len(seen))
		}
	}
}

// TestLanes checks that of thousands of chunks only what can be seen is drawn, and that no part of
// a worker's time is lost.
func TestLanes(t *testing.T) {
	chunks := Lanes{Panels: []Panel{{Label: "many", End: 1, Lanes: make([][]Busy, 40)}}}
	for i := range chunks.Panels[0].Lanes {
		for j := range 2000 {
			chunks.Panels[0].Lanes[i] = append(chunks.Panels[0].Lanes[i], Busy{From: float64(j) / 2000,
				To: float64(j+1)/2000 - 1e-5})
		}
	}
	var svg bytes.Buffer
	if err := SVG(&svg, chunks, ""); err != nil {
		t.Fatal(err)
	}
	if svg.Len() > 50_000 {
		t.Errorf("%d bytes", svg.Len())
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

// TestPDF checks that the document has no time of day, and × as one byte.
func TestPDF(t *testing.T) {
	var buf bytes.Buffer
	if err := PDF(&buf, charts["curve"]); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(buf.Bytes(), []byte("%PDF-")) || !bytes.Contains(buf.Bytes(), []byte("D:19700101000000")) {
		t.Error("no PDF, or one with the time of day")
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
		if tick.Label != "" {
			out = append(out, tick.Label)
		}
	}
	return strings.Join(out, " ")
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
	} {
		if test.got != test.want {
			t.Errorf("%s: ticks %s, want %s", test.name, test.got, test.want)
		}
	}
}

func TestThreeDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.99949: "0.999", 0.9996: "1.00", 1: "1.00", 12.345: "12.3",
		99.96: "100", 1234.4: "1234", 0.001234: "0.00123"} {
		if got := threeDigits(x); got != want {
			t.Errorf("threeDigits(%v) = %s, want %s", x, got, want)
		}
	}
}

// TestLooks checks that the first 56 looks differ.
func TestLooks(t *testing.T) {
	seen := map[[2]any]int{}
	for i := range 56 {
		l := LookOf(i)
		key := [2]any{l.Color, l.Marker}
		if j, again := seen[key]; again {
			t.Errorf("looks %d and %d are the same", i, j)
		}
		seen[key] = i
	}
}

// TestBoxesFit checks that no box of a drawing is outside of the one that it is in, and that neighbours do not overlap.
func TestBoxesFit(t *testing.T) {
	leaf := Box{Lines: []string{"100: w16"}}
	for n := 1; n <= 40; n++ {
		row := slices.Repeat([]Box{leaf}, n)
		b := Box{Lines: []string{"top"}, Inner: [][]Box{row, {leaf}}}
		const wide = 200
		most := columns(row, wide-2*boxPad)
		if most < 1 || most > n {
			t.Fatalf("%d boxes: %d columns", n, most)
		}
		seen, tall := 0, vg.Length(0)
		b.lines(row, wide, func(line []Box, each, high vg.Length) {
			seen += len(line)
			tall += high + boxGap
			if used := vg.Length(len(line))*(each+boxGap) - boxGap; !(used <= wide-2*boxPad+1e-9) ||
				!(each >= leaf.least()) {
				t.Errorf("%d boxes: a line is %v of %v wide, and a box %v of %v", n, used, wide-2*boxPad, each,
					leaf.least())
			}
		})
		if want := tall + boxLine + 2*boxPad + boxGap + leaf.tall(wide); seen != n ||
			math.Abs(float64(b.tall(wide)-want)) > 1e-9 {
			t.Errorf("%d boxes: %d are drawn, %v high, want %v", n, seen, b.tall(wide), want)
		}
	}
}
