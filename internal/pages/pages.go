package pages

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report"
	"gemm/compare/report/chart"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/text"
	"gemm/internal/catalog"
)

// page is one rendered page: docs/<topic>/report.md with its figures.
type page struct {
	topic   string
	title   string
	records []string // files in results/
	digest  digest   // of the report and the appendix
}

// topics are the pages of docs/, in the order of its index.
var topics = []page{
	{
		topic:   "serial",
		title:   "One processor: the ladder, step by step",
		records: []string{"serial.json.gz"},
		digest: digest{
			sections: []string{"answer", "machine", "runs", "serial-measurements", "compiler-c", "course-versions"},
			figures: []string{
				"waterfall-f64", "gflops-serial-f64", "strassen-crossover-f64", "compiler-f64", "roofline-f64",
			},
			tables: []string{"table-serial-f64"},
		},
	},
	{
		topic:   "bring-results",
		title:   "A kernel that a course hands out, over 96 sizes",
		records: []string{"bring.json.gz"},
		digest: digest{
			sections: []string{"serial-brought"},
			figures:  []string{"gflops-serial-f64"},
			tables:   []string{"table-peaks"},
		},
	},
	{
		topic:   "peers",
		title:   "Compared with OpenBLAS, MKL, BLIS, libxsmm, NumPy and gonum",
		records: []string{"peers.json.gz", "peers-xeon.json.gz"},
		digest: digest{
			sections: []string{"machine", "runs", "peers", "contenders", "means", "lost"},
			figures:  []string{"square-f64-1", "square-f32-1", "small-f64-1"},
			tables:   []string{"table-lost"},
		},
	},
	{
		topic:   "parallel",
		title:   "16 threads: scaling, schedules and what sharing costs",
		records: []string{"parallel-xeon.json.gz"},
		digest: digest{
			sections: []string{
				"answer", "machine", "runs", "parallel-measurements", "openmp", "findings", "course-threads",
			},
			figures: []string{"strong-speedup-f64", "times-f64", "chunk-dynamic-f64", "timeline-1"},
			tables:  []string{"table-parallel-f64"},
		},
	},
	{
		topic:   "mpi",
		title:   "16 ranks: compared with ScaLAPACK",
		records: []string{"mpi-xeon.json.gz"},
		digest: digest{
			sections: []string{"answer", "machine", "runs", "mpi-measurements", "mpi-findings", "course-ranks"},
			figures: []string{
				"mpi-distribution-f64", "mpi-phases-f64", "mpi-bytes-f64", "mpi-strong-speedup-f64",
			},
			tables: []string{"table-mpi-f64"},
		},
	},
	{
		topic:   "hosts",
		title:   "2 hosts: what the network costs",
		records: []string{"hosts.json.gz"},
		digest:  overHosts,
	},
	{
		topic:   "hosts-1gbit",
		title:   "2 hosts on links of 1 Gbit/s",
		records: []string{"hosts-1gbit.json.gz"},
		digest:  overHosts,
	},
	{
		topic:   "cuda-results",
		title:   "An NVIDIA H100: compared with cuBLAS",
		records: []string{"cuda-h100.json.gz"},
		digest: digest{
			sections: []string{"answer", "machine", "runs", "cuda-measurements", "gpu-lab", "gpu-chain"},
			figures: []string{
				"gpu-rates-f32", "gpu-rates-f64", "gpu-rates-f16", "gpu-inside-f16", "gpu-errors", "gpu-host-f64",
			},
			tables: []string{"table-cuda-f32", "table-cuda-f64", "table-cuda-f16", "table-cuda-bf16"},
		},
	},
	{
		topic:   "cuda-h200",
		title:   "An NVIDIA H200: compared with cuBLAS, and tuned",
		records: []string{"cuda-h200.json.gz", "cuda-h200-tuned.json.gz"},
		digest: digest{
			sections: []string{"answer", "machine", "runs", "cuda-measurements", "gpu-lab", "gpu-chain"},
			figures:  []string{"gpu-rates-f32", "gpu-rates-f16", "gpu-occupancy-threads"},
			tables:   []string{"table-cuda-f32", "table-cuda-f64", "table-gpu-lab", "table-gpu-chain"},
		},
	},
	{
		topic:   "gf256",
		title:   "Reed–Solomon codes: compared with klauspost/reedsolomon",
		records: []string{"gf256-zen4.json.gz", "gf256-xeon.json.gz", "gf256-h200.json.gz"},
		digest: digest{
			sections: []string{"machine", "codes-table"},
			figures:  []string{"codes-1-MiB"},
		},
	},
}

// overHosts is the digest of a page on several hosts.
var overHosts = digest{
	sections: []string{"answer", "machine", "runs", "mpi-measurements"},
	figures:  []string{"mpi-phases-f64"},
	tables:   []string{"table-mpi-f64"},
}

// headlineFigure is the figure of the READMEs: a topic and the figure's ID.
var headlineFigure = [2]string{"peers", "square-f64-1"}

// Render writes all pages below root, the folder of the repository.
func Render(root string) error {
	for _, p := range topics {
		if err := p.render(root); err != nil {
			return fmt.Errorf("docs/%s: %w", p.topic, err)
		}
	}
	if err := renderFull(root); err != nil {
		return fmt.Errorf("docs/full: %w", err)
	}
	for _, lang := range text.Languages {
		if err := renderHeadlines(root, lang); err != nil {
			return err
		}
	}
	if err := renderDrawings(root); err != nil {
		return fmt.Errorf("docs/drawings: %w", err)
	}
	if err := renderShards(root); err != nil {
		return fmt.Errorf("%s: %w", shardPage, err)
	}
	if err := renderPerformance(root); err != nil {
		return fmt.Errorf("%s: %w", performancePage, err)
	}
	return renderIndex(root)
}

// load reads the named records of results/ as one document.
func load(root string, names []string) (compare.Document, error) {
	var docs []compare.Document
	for _, name := range names {
		doc, err := compare.Load(filepath.Join(root, "results", name))
		if err != nil {
			return compare.Document{}, err
		}
		docs = append(docs, doc)
	}
	doc, err := compare.Merge(docs...)
	return doc.Declared(catalog.Variants()), err
}

// render writes the page with its figures, and removes figures that are not shown.
func (p page) render(root string) error {
	doc, err := load(root, p.records)
	if err != nil {
		return err
	}
	drawings := figures.Drawings(doc, "en")
	r, appendix := report.Build(doc, report.Options{Lang: "en"}), report.Appendix(doc, report.Options{Lang: "en"})
	r.Sections = slices.Insert(r.Sections, 1, appendix.Sections...)
	r = p.digest.of(r)
	r.Title = p.title
	var text bytes.Buffer
	if err := document.Markdown(&text, r); err != nil {
		return err
	}
	dir := filepath.Join(root, "docs", p.topic)
	if err := writeFigures(dir, r, drawings); err != nil {
		return err
	}
	if err := p.copyHeadlineFigure(root, r, drawings); err != nil {
		return err
	}
	page := strings.Replace(text.String(), "\n**Contents**", "\n"+p.introduction()+"\n\n**Contents**", 1)
	return write(filepath.Join(dir, "report.md"), []byte(page))
}

// introduction links the records of the page, says how to render all of them, and what
// to know of them.
func (p page) introduction() string {
	var links, in []string
	for _, name := range p.records {
		links = append(links, fmt.Sprintf("[results/%s](../../results/%s)", name, name))
		in = append(in, "--in results/"+name)
	}
	text := fmt.Sprintf(texts.introduction, strings.Join(links, ", "), strings.Join(in, " "), p.topic)
	return strings.TrimSpace(strings.TrimSpace(text) + note(p.topic))
}

// copyHeadlineFigure writes the figure of the READMEs if the page has it.
func (p page) copyHeadlineFigure(root string, r document.Report, drawings []chart.Drawing) error {
	if p.topic != headlineFigure[0] {
		return nil
	}
	for _, d := range drawings {
		if withoutHost(d.ID) == headlineFigure[1] && strings.HasSuffix(d.ID, headlineHost) {
			return writeFigure(filepath.Join(root, "docs", "headline.svg"), d)
		}
	}
	return fmt.Errorf("no figure %s for the READMEs", headlineFigure[1])
}

// writeFigures replaces the figures in dir by those that r shows.
func writeFigures(dir string, r document.Report, drawings []chart.Drawing) error {
	dir = filepath.Join(dir, "figures")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, d := range drawings {
		if !r.Shows(d.ID) {
			continue
		}
		if err := writeFigure(filepath.Join(dir, d.ID+".svg"), d); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file and makes its folder.
func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// pagesOf returns the pages that show the record, relative to the repository.
func pagesOf(record string) []string {
	var out []string
	for _, p := range topics {
		for _, name := range p.records {
			if name == record {
				out = append(out, path.Join("docs", p.topic, "report.md"))
			}
		}
	}
	if slices.Contains(fullRecords, record) {
		out = append(out, "docs/full/report.md", "docs/full/report.zh.md")
	}
	if slices.Contains(shardRecords, record) {
		out = append(out, shardPage)
	}
	if slices.Contains(performanceRecords, record) {
		out = append(out, performancePage)
	}
	if inHeadlines(record) {
		out = append(out, "README.md")
	}
	return out
}
