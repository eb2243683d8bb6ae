package pages

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"gemm"
	"gemm/compare"
)

// headline is one row of the table of headline results. It shows the speed of a variant at
// one shape, and its ratios to others over all shapes that both were timed at.
type headline struct {
	record string
	own    contender
	shape  gemm.Shape // whose speed is shown
	over   scope      // the shapes of the ratios
	host   string     // the instruction set of the host, if the record has several; empty: any
	others []contender
}

// contender is the rows of one variant in a record.
type contender struct {
	name    string // in the table
	variant string
	typ     string
	threads int // busy threads or ranks
}

// scope says which shapes are compared.
type scope func(r compare.Record) bool

// cubes returns the scope of square matrices from n on.
func cubes(n int) scope {
	return func(r compare.Record) bool { return r.IsCube() && r.N >= n }
}

// small is the scope of square matrices whose product takes a microsecond or less.
func small(r compare.Record) bool { return r.IsCube() && r.N < 64 }

// codes are products of shards.
func codes(r compare.Record) bool { return r.N > 100*r.M }

// headlineHost ends the ID of the host whose figure the READMEs show.
const headlineHost = "23ccc98e"

// headlines are the rows, by the names that the texts use.
var headlines = map[string]headline{
	"core-f64":      onCore("peers.json.gz", "f64", "OpenBLAS", "MKL", "BLIS", "gonum"),
	"core-f32":      onCore("peers.json.gz", "f32", "OpenBLAS", "MKL", "BLIS", "gonum"),
	"core-f64-xeon": onCore("peers-xeon.json.gz", "f64", "OpenBLAS", "MKL"),
	"core-small":    onSmall("peers.json.gz", "f64", "OpenBLAS", "MKL", "BLIS", "gonum"),
	"threads": {
		record: "parallel-xeon.json.gz",
		own:    contender{variant: "parallel/packed", typ: "f64", threads: 16},
		shape:  gemm.Cube(4096), over: cubes(1024),
		others: []contender{{name: "1 thread", variant: "parallel/packed", typ: "f64", threads: 1}},
	},
	"mpi": {
		record: "mpi-xeon-16.json.gz",
		own:    contender{variant: "mpi/srumma", typ: "f64", threads: 16},
		shape:  gemm.Cube(8192), over: cubes(1024),
		others: []contender{{name: "ScaLAPACK", variant: "reference/scalapack", typ: "f64", threads: 16}},
	},
	"gpu-f32":    onGPU("f32", "cuda/warptile", "cuBLAS", "cuda/cublas"),
	"gpu-f16x3":  onGPU("f32", "cuda/f16x3", "cuBLAS", "cuda/cublas"),
	"gpu-tf32":   onGPU("f32", "cuda/tf32-wgmma-persistent", "cuBLAS, TF32", "cuda/cublas-tf32"),
	"gpu-f16":    onGPU("f16", "cuda/wgmma-persistent", "cuBLAS", "cuda/cublas"),
	"gpu-bf16":   onGPU("bf16", "cuda/wgmma-persistent", "cuBLAS", "cuda/cublas"),
	"gpu-f64":    onGPU("f64", "cuda/dmma", "cuBLAS", "cuda/cublas"),
	"codes":      ofCodes("gf256-zen4.json.gz", ""),
	"codes-avx2": ofCodes("gf256-xeon.json.gz", "avx2-nogfni"),
	"codes-gpu": {
		record: "gf256-h200.json.gz",
		own:    contender{variant: "cuda/tuned", typ: "gf256"},
		shape:  gemm.Shape{M: 4, N: 16777216, K: 10}, over: codes,
	},
}

// onCore is serial/packed compared with libraries on one core.
func onCore(record, typ string, peers ...string) headline {
	own := contender{variant: "serial/packed", typ: typ, threads: 1}
	h := headline{record: record, own: own, shape: gemm.Cube(2048), over: cubes(64)}
	for _, p := range peers {
		variant := "reference/" + strings.ToLower(p)
		if p == "gonum" {
			variant = "serial/gonum"
		}
		h.others = append(h.others, contender{name: p, variant: variant, typ: typ, threads: 1})
	}
	return h
}

// onSmall is the same for small matrices.
func onSmall(record, typ string, peers ...string) headline {
	h := onCore(record, typ, peers...)
	h.shape, h.over = gemm.Cube(16), small
	return h
}

// onGPU is a rung compared with cuBLAS.
func onGPU(typ, variant, name, library string) headline {
	return headline{
		record: "cuda-h100.json.gz",
		own:    contender{variant: variant, typ: typ},
		shape:  gemm.Cube(4096), over: cubes(1024),
		others: []contender{{name: name, variant: library, typ: typ}},
	}
}

// ofCodes is serial/packed over GF(2⁸) compared with klauspost/reedsolomon.
func ofCodes(record, isa string) headline {
	return headline{
		record: record,
		own:    contender{variant: "serial/packed", typ: "gf256", threads: 1},
		shape:  gemm.Shape{M: 4, N: 1 << 20, K: 10}, over: codes, host: isa,
		others: []contender{{name: "klauspost/reedsolomon", variant: "reference/reedsolomon", typ: "gf256", threads: 1}},
	}
}

// inHeadlines reports whether a row of the table comes from the record.
func inHeadlines(record string) bool {
	for _, h := range headlines {
		if h.record == record {
			return true
		}
	}
	return false
}

// cells are what the texts show of a headline.
type cells struct {
	Speed, Share, Ratios, Hardware, Date, Record string
}

// find returns the row of c with the shape of like that was measured in the same turn
// as like, if there is one.
func (h headline) find(doc compare.Document, c contender, like compare.Record) (compare.Record, bool) {
	for _, r := range doc.Records {
		same := r.Shape == like.Shape && r.Turn == like.Turn && r.Host == like.Host
		if same && h.matches(doc, r, c) {
			return r, true
		}
	}
	return compare.Record{}, false
}

// matches reports whether r is a timed row of c with the settings that it has by default.
func (h headline) matches(doc compare.Document, r compare.Record, c contender) bool {
	if r.Variant != c.variant || r.Type != c.typ || !r.Speed() || r.Op != "nn" {
		return false
	}
	if r.Experiment != compare.MainLadder && r.Experiment != compare.StrongScaling {
		return false
	}
	for name := range r.Params {
		if name != "threads" && name != "ranks" {
			return false
		}
	}
	if h.host != "" {
		for _, host := range doc.Hosts {
			if host.ID == r.Host && host.ISA != h.host {
				return false
			}
		}
	}
	return c.threads == 0 || r.Threads == c.threads || r.Params["ranks"] == float64(c.threads) || r.RanksUsed == c.threads
}

// cells computes the row from its record.
func (h headline) cells(root string) (cells, error) {
	doc, err := load(root, []string{h.record})
	if err != nil {
		return cells{}, err
	}
	out := cells{Record: h.record}
	ratios := make([][]float64, len(h.others))
	for _, r := range doc.Records {
		if !h.matches(doc, r, h.own) || !h.over(r) {
			continue
		}
		if r.Shape == h.shape {
			out.Speed, out.Share = speed(r), share(r)
			out.Hardware, out.Date = where(doc, r)
		}
		for i, other := range h.others {
			if peer, ok := h.find(doc, other, r); ok {
				ratios[i] = append(ratios[i], float64(peer.Median)/float64(r.Median))
			}
		}
	}
	if out.Speed == "" {
		return cells{}, fmt.Errorf("results/%s has no row of %s at %v", h.record, h.own.variant, h.shape)
	}
	var list []string
	for i, other := range h.others {
		if len(ratios[i]) == 0 {
			return cells{}, fmt.Errorf("results/%s has no row of %s next to %s", h.record, other.variant, h.own.variant)
		}
		list = append(list, other.name+" "+mean(ratios[i]))
	}
	out.Ratios = cmp.Or(strings.Join(list, "<br>"), "—")
	return out, nil
}

// mean returns the geometric mean of ratios and, of several, the lowest and the highest.
func mean(ratios []float64) string {
	sum, lo, hi := 0.0, math.Inf(1), math.Inf(-1)
	for _, x := range ratios {
		sum += math.Log(x)
		lo, hi = min(lo, x), max(hi, x)
	}
	text := digits(math.Exp(sum / float64(len(ratios))))
	if len(ratios) > 1 {
		text += fmt.Sprintf(" (%s–%s)", digits(lo), digits(hi))
	}
	return text
}

// digits returns a ratio with two digits behind the point, or one from 10 on.
func digits(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// speed returns how fast a row is, with its unit.
func speed(r compare.Record) string {
	x, unit := float64(r.Gflops), "GFLOP/s"
	if r.Type == "gf256" {
		x, unit = float64(r.DataGBps), "GB/s"
	}
	switch {
	case unit == "GFLOP/s" && x >= 10000:
		return fmt.Sprintf("%.1f TFLOP/s", x/1000)
	case x >= 100:
		return fmt.Sprintf("%.0f %s", x, unit)
	}
	return fmt.Sprintf("%.1f %s", x, unit)
}

// share returns the part of the measured peak that a row reaches, a dash if it is not known.
func share(r compare.Record) string {
	if !r.PercentPeak.Known() || r.Type == "gf256" {
		return "—"
	}
	return fmt.Sprintf("%.0f %%", float64(r.PercentPeak))
}

// where names the hardware and the day of a row.
func where(doc compare.Document, r compare.Record) (hardware, day string) {
	for _, h := range doc.Hosts {
		if h.ID == r.Host {
			hardware = processor(h)
			if strings.HasPrefix(r.Variant, "cuda/") && len(h.GPUs) > 0 {
				hardware = h.GPUs[0]
			}
		}
	}
	for _, run := range doc.Runs {
		if run.ID == r.Run {
			day = run.Time.UTC().Format("2006-01-02")
		}
	}
	return hardware, day
}

// processor names the processor of a host and its instruction set.
func processor(h compare.Host) string {
	h.GPUs = nil
	return h.Name() + ", " + h.ISA
}

// The lines of a README that the table is between.
const (
	tableBegin = "<!-- Made by make docs from the records in results/. -->\n"
	tableEnd   = "<!-- End of what make docs makes. -->\n"
)

// readme returns the name of the README of a language.
func readme(lang string) string { return "README" + ending(lang) }

// renderHeadlines writes the table into the README of a language.
func renderHeadlines(root, lang string) error {
	table, err := headlineTable(root, lang)
	if err != nil {
		return fmt.Errorf("%s: %w", readme(lang), err)
	}
	return replace(root, readme(lang), tableBegin, tableEnd, table)
}

// replace puts text between two lines of a file.
func replace(root, name, begin, end, text string) error {
	file := filepath.Join(root, name)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(data), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s lacks the lines %q and %q", name, begin, end)
	}
	return write(file, []byte(before+begin+"\n"+text+"\n"+end+after))
}

// headlineTable fills in the text of a language.
func headlineTable(root, lang string) (string, error) {
	t, err := template.New(lang).Funcs(template.FuncMap{
		"replace": strings.ReplaceAll,
		"of": func(name string) (cells, error) {
			h, ok := headlines[name]
			if !ok {
				return cells{}, fmt.Errorf("no headline %q", name)
			}
			return h.cells(root)
		},
	}).Parse(texts.headlines[lang])
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, nil); err != nil {
		return "", err
	}
	return b.String(), nil
}
