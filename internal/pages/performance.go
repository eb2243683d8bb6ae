package pages

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"gemm/compare"
)

// performancePage has the tables of our products next to those of libraries.
const performancePage = "docs/performance.md"

// wideRecord has three runs of the profile peers on a host with AVX-512, the first with all variants; heldRecord has
// three on it that are held to AVX2, and narrowRecord one on a host that has no more. batchRecord has batches on a GPU,
// and benchRecord what the benchmarks of blas and lapack printed on the first host.
const (
	wideRecord   = "peers-xeon.json.gz"
	heldRecord   = "peers-xeon-avx2.json.gz"
	narrowRecord = "peers-avx2.json.gz"
	batchRecord  = "batch-h100.json.gz"
	benchRecord  = "blas-xeon.bench.txt"
)

// performanceRecords are all records of the page that are documents.
var performanceRecords = []string{wideRecord, heldRecord, narrowRecord, batchRecord}

// rival is a library that products are compared with.
type rival struct{ name, variant string }

var rivals = []rival{{"MKL", "reference/mkl"}, {"OpenBLAS", "reference/openblas"}, {"BLIS", "reference/blis"},
	{"libxsmm", "reference/libxsmm"}, {"PyTorch", "reference/torch"}}

// product is what a row of a table multiplies.
type product struct{ m, n, k, batch, threads int }

// text names the product.
func (p product) text() string {
	shape := fmt.Sprintf("%d×%d×%d", p.m, p.n, p.k)
	if p.m == p.n && p.n == p.k {
		shape = fmt.Sprintf("%d³", p.n)
	}
	if p.batch > 0 {
		shape = fmt.Sprintf("%d × %s", p.batch, shape)
	}
	if p.threads > 1 {
		shape += fmt.Sprintf(", %d threads", p.threads)
	}
	return shape
}

// cubesOf returns products of n×n matrices.
func cubesOf(threads, batch int, sizes ...int) (list []product) {
	for _, n := range sizes {
		list = append(list, product{n, n, n, batch, threads})
	}
	return list
}

// mediansOf returns the median time of a variant's row for a product in each run that timed it.
func mediansOf(doc compare.Document, variant, typ string, p product) map[string]float64 {
	medians := map[string]float64{}
	for _, r := range doc.Records {
		if r.Variant == variant && r.Type == typ && r.Speed() && r.Op == "nn" && r.Batch == p.batch &&
			r.Threads == p.threads && r.M == p.m && r.N == p.n && r.K == p.k {
			medians[r.Run] = float64(r.Median)
			for _, a := range r.Again {
				medians[a.Run] = float64(a.Median)
			}
		}
	}
	return medians
}

// timesOf returns the time of a library over ours in each run that has both.
func timesOf(doc compare.Document, library, typ string, p product) (list []float64) {
	own := "serial/packed"
	if p.threads > 1 {
		own = "parallel/packed"
	}
	ours, theirs := mediansOf(doc, own, typ, p), mediansOf(doc, library, typ, p)
	for _, r := range doc.Runs {
		if ours[r.ID] > 0 && theirs[r.ID] > 0 {
			list = append(list, theirs[r.ID]/ours[r.ID])
		}
	}
	return list
}

// rivalTable returns a table of the times of libraries over ours. Below 1, bold, the library is faster. Of several runs
// a cell has the median and the range. Libraries that no row has are left out.
func rivalTable(doc compare.Document, products []product) string {
	var head []string
	cells := make([][]string, len(products))
	means := []string{"geometric mean"}
	for _, typ := range []string{"f64", "f32"} {
		for _, library := range rivals {
			logs, have := 0.0, 0
			column := make([]string, len(products))
			for i, p := range products {
				list := timesOf(doc, library.variant, typ, p)
				column[i] = ratioCell(list)
				if len(list) > 0 {
					logs, have = logs+math.Log(median(list)), have+1
				}
			}
			if have == 0 {
				continue
			}
			head = append(head, library.name+" "+typ)
			mean := "—"
			if have == len(products) {
				mean = ratioCell([]float64{math.Exp(logs / float64(have))})
			}
			means = append(means, mean)
			for i := range products {
				cells[i] = append(cells[i], column[i])
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| product | %s |\n|---%s|\n", strings.Join(head, " | "), strings.Repeat("|---:", len(head)))
	for i, p := range products {
		fmt.Fprintf(&b, "| %s | %s |\n", p.text(), strings.Join(cells[i], " | "))
	}
	fmt.Fprintf(&b, "| %s |\n", strings.Join(means, " | "))
	return b.String()
}

// ratioCell writes the median of ratios with their range.
func ratioCell(list []float64) string {
	if len(list) == 0 {
		return "—"
	}
	x := median(list)
	cell := digits(x)
	if x < 0.995 {
		cell = "**" + cell + "**"
	}
	if len(list) > 1 {
		cell += fmt.Sprintf(" (%s–%s)", digits(slices.Min(list)), digits(slices.Max(list)))
	}
	return cell
}

// benchmarks returns the times of benchmarks in seconds, by name without the number of processors.
func benchmarks(root string) (map[string][]float64, error) {
	f, err := os.Open(filepath.Join(root, "results", benchRecord))
	if err != nil {
		return nil, err
	}
	times, err := benchmarksOf(f)
	return times, errors.Join(err, f.Close())
}

func benchmarksOf(r io.Reader) (map[string][]float64, error) {
	times := map[string][]float64{}
	reader := benchfmt.NewReader(r, benchRecord)
	for reader.Scan() {
		switch line := reader.Result().(type) {
		case *benchfmt.Result:
			seconds, ok := line.Value("sec/op")
			if !ok {
				return nil, fmt.Errorf("results/%s: %s has no time", benchRecord, line.Name)
			}
			name := line.Name.String()
			if i := strings.LastIndex(name, "-"); i > 0 {
				name = name[:i]
			}
			times[name] = append(times[name], seconds)
		case *benchfmt.SyntaxError:
			return nil, line
		}
	}
	return times, reader.Err()
}

// callParts returns the table of what a small product consists of, in ns.
func callParts(times map[string][]float64) string {
	parts := []string{"empty", "checks", "kernel", "NN", "NT", "Plan", "Multiply"}
	var b strings.Builder
	fmt.Fprintf(&b, "| n | %s |\n|---%s|\n", strings.Join(parts, " | "), strings.Repeat("|---:", len(parts)))
	for _, n := range []int{2, 4, 8, 16} {
		fmt.Fprintf(&b, "| %d", n)
		for _, part := range parts {
			cell := "—"
			if list := times[fmt.Sprintf("Small/type=f64/n=%d/part=%s", n, part)]; len(list) > 0 {
				cell = fmt.Sprintf("%.0f", slices.Min(list)*1e9)
			}
			fmt.Fprintf(&b, " | %s", cell)
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// nextToGonum returns the table of routines that gonum has too.
func nextToGonum(times map[string][]float64) string {
	var b strings.Builder
	b.WriteString("| routine | gonum | ours | gonum's time over ours |\n|---|---:|---:|---:|\n")
	for _, x := range []struct {
		group, label string
		sizes        []int
	}{
		{"Vectors/gemv", "y ← A·x", []int{256, 1024, 2048, 4096}},
		{"Vectors/gemvT", "y ← Aᵀ·x", []int{256, 1024, 2048, 4096}},
		{"Vectors/ger", "A ← A + x·yᵀ", []int{256, 1024, 2048, 4096}},
		{"Complex", "zgemm", []int{4, 8, 16, 64, 512}},
		{"Mat/LU", "mat.LU", []int{64, 128, 512}},
		{"Mat/QR", "mat.QR", []int{64, 128, 512}},
		{"Mat/SVD", "mat.SVD", []int{64, 128, 512}},
	} {
		for _, n := range x.sizes {
			by := func(who string) []float64 { return times[fmt.Sprintf("%s/n=%d/by=%s", x.group, n, who)] }
			theirs, ours := by("gonum"), by("gemm")
			if len(theirs) == 0 || len(ours) == 0 {
				continue
			}
			fmt.Fprintf(&b, "| %s, n = %d | %s | %s | %s |\n", x.label, n, duration(median(theirs)),
				duration(median(ours)), ratioCell([]float64{median(theirs) / median(ours)}))
		}
	}
	return b.String()
}

// duration writes a time with three digits.
func duration(seconds float64) string {
	for _, unit := range []struct {
		name  string
		least float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if seconds >= unit.least {
			return fmt.Sprintf("%.3g %s", seconds/unit.least, unit.name)
		}
	}
	return fmt.Sprintf("%.3g ns", seconds*1e9)
}

// source names the host, the day and the revision of a record, and prints the commands of its runs.
func source(doc compare.Document, name string) string {
	var b strings.Builder
	h, run := doc.Hosts[0], doc.Runs[0]
	machine := fmt.Sprintf("%s, %d processors", processor(h), h.Cores)
	if len(h.GPUs) > 0 {
		machine = h.GPUs[0]
	}
	fmt.Fprintf(&b, "%s; %s, revision `%s`: [results/%s](../results/%s)", machine,
		run.Time.UTC().Format("2006-01-02"), run.Git[:min(len(run.Git), 8)], name, name)
	var commands []string
	for _, r := range doc.Runs {
		for _, command := range r.Commands() {
			if !slices.Contains(commands, command) {
				commands = append(commands, command)
			}
		}
	}
	fmt.Fprintf(&b, "\n\n```sh needs=record\n%s\n```\n", strings.Join(commands, "\n"))
	return b.String()
}

// gpuBatches returns the table of batches of a GPU next to cuBLAS.
func gpuBatches(doc compare.Document) string {
	var b strings.Builder
	b.WriteString("| batch in f32 | warptile | cuBLAS | cuBLAS's time over ours |\n|---|---:|---:|---:|\n")
	for _, r := range doc.Records {
		if r.Variant != "cuda/warptile" || !r.Speed() {
			continue
		}
		own := r.Key
		for _, other := range doc.Records {
			if own.Variant = other.Variant; other.Variant != "cuda/cublas" || other.Key != own || !other.Speed() {
				continue
			}
			batch := product{r.M, r.N, r.K, r.Batch, 1}.text()
			if r.Op != "nn" {
				batch += ", " + r.Op
			}
			ours, theirs := float64(r.Median), float64(other.Median)
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", batch, duration(ours), duration(theirs),
				ratioCell([]float64{theirs / ours}))
		}
	}
	return b.String()
}

// renderPerformance writes the tables of the page.
func renderPerformance(root string) error {
	docs := map[string]compare.Document{}
	for _, name := range performanceRecords {
		doc, err := load(root, []string{name})
		if err != nil {
			return err
		}
		docs[name] = doc
	}
	times, err := benchmarks(root)
	if err != nil {
		return err
	}
	wide := docs[wideRecord]
	slender := []product{{4096, 4096, 16, 0, 1}, {64, 64, 8192, 0, 1}, {16, 4096, 4096, 0, 1}, {1, 4096, 4096, 0, 1},
		{4096, 16, 4096, 0, 1}}
	squares := []int{64, 128, 256, 512, 1024, 2048}
	var b strings.Builder
	section := func(title, table string) { fmt.Fprintf(&b, "### %s\n\n%s\n", title, table) }
	fmt.Fprintf(&b, "## A host with AVX-512\n\n%s\n", source(wide, wideRecord))
	section("Squares, one thread", rivalTable(wide, cubesOf(1, 0, squares...)))
	section("Small products", rivalTable(wide, cubesOf(1, 0, 2, 3, 4, 5, 6, 8, 12, 16, 32)))
	section("Batches of small products, one thread", rivalTable(wide, cubesOf(1, 1000, 4, 8, 16, 32)))
	section("Slender shapes, one thread", rivalTable(wide, slender))
	section("Two threads", rivalTable(wide, cubesOf(2, 0, 512, 1024, 2048)))
	section("16 threads", rivalTable(wide, cubesOf(16, 0, 512, 1024, 2048, 4096)))
	for _, held := range []struct{ title, record string }{
		{"held to AVX2", heldRecord},
		{"with AVX2", narrowRecord},
	} {
		doc := docs[held.record]
		fmt.Fprintf(&b, "## A host %s\n\n%s\n", held.title, source(doc, held.record))
		section("Squares, one thread, "+held.title, rivalTable(doc,
			cubesOf(1, 0, 64, 128, 256, 384, 512, 768, 1024, 1536, 2048)))
		section("Small products and batches, one thread, "+held.title, rivalTable(doc,
			append(cubesOf(1, 0, 4, 8, 16, 32), cubesOf(1, 1000, 4, 8, 16, 32)...)))
	}
	fmt.Fprintf(&b, "## Batches on a GPU\n\n%s\n%s\n", source(docs[batchRecord], batchRecord),
		gpuBatches(docs[batchRecord]))
	fmt.Fprintf(&b, "## Next to gonum\n\nThe host with AVX-512, all 16 processors, from"+
		" [results/%s](../results/%s), which `make bench-blas` makes.\n\n%s\n", benchRecord, benchRecord,
		nextToGonum(times))
	fmt.Fprintf(&b, "## What a small product consists of\n\nNanoseconds in f64, the least of the runs, from the same\n"+
		"record: a call that does nothing, one that checks its arguments, the kernel alone, `Dgemm` of A·B and\n"+
		"of A·Bᵀ, `Plan.Multiply` and `Multiply`.\n\n%s", callParts(times))
	return replace(root, performancePage, tableBegin, tableEnd, strings.TrimSpace(b.String())+"\n")
}
