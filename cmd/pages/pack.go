package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gemm/cmd/catalog"
	"gemm/compare/record"
	"gemm/internal/sample"
)

// mostSamples is how many samples of a row or of a measurement a packed document keeps. It is odd, so that the
// median is among them.
const mostSamples = 29

// pack writes the documents in files as one, named name, in gzip's format. The first is the main one: of a row that
// another document has too, the main one's stays and the other's median is added to it. Rows and measurements keep
// quantiles of their samples, and a summary. Of the timelines of a kind one stays.
func pack(name string, files ...string) error {
	if !strings.HasSuffix(name, ".json.gz") {
		return fmt.Errorf("%s: the name of packed records ends in .json.gz", name)
	}
	var docs []record.Document
	for _, file := range files {
		doc, err := record.Load(file)
		if err != nil {
			return err
		}
		docs = append(docs, doc)
	}
	doc, err := packed(docs)
	if err != nil {
		return err
	}
	data, err := doc.Declared(catalog.Variants()).Encode()
	if err != nil {
		return err
	}
	if data, err = record.Packed(data, gzip.BestCompression); err != nil {
		return err
	}
	return os.WriteFile(filepath.Clean(name), data, 0o644)
}

// packed returns the documents as one, with fewer samples and timelines.
func packed(docs []record.Document) (record.Document, error) {
	doc, err := record.Merge(repeated(docs)...)
	if err != nil {
		return record.Document{}, err
	}
	for i := range doc.Records {
		r := &doc.Records[i]
		r.Samples, r.Sampled = quantiles(r.Samples, r.Sampled)
	}
	for i := range doc.Measurements {
		m := &doc.Measurements[i]
		if sum := sample.Summarize(m.Samples); len(m.Samples) > mostSamples {
			m.Samples, m.Sampled = quantiles(m.Samples, m.Sampled)
			m.Sampled.CI = &[2]float64{sum.Lo, sum.Hi}
		}
	}
	doc.Traces = onePerKind(doc.Traces)
	return doc, nil
}

// repeated returns the documents with each row once: in the first document that has it, which gets the medians of the
// others. Of a document that has no other rows only the runs are left.
func repeated(docs []record.Document) []record.Document {
	first := map[record.ID]*record.Record{}
	out := slices.Clone(docs)
	for i := range out {
		before := len(first)
		out[i].Records = nil
		kept := make([]record.Record, 0, len(docs[i].Records))
		for _, r := range docs[i].Records {
			if main := first[r.ID()]; main == nil {
				kept = append(kept, r)
				first[r.ID()] = &kept[len(kept)-1]
			} else if r.Speed() && main.Speed() {
				main.Again = append(slices.Clip(main.Again), record.Again{Run: r.Run, Median: r.Median})
			}
		}
		out[i].Records = kept
		if i > 0 && len(first) == before {
			out[i] = record.Document{Schema: docs[i].Schema, Runs: docs[i].Runs}
		}
	}
	return out
}

// quantiles returns quantiles of samples, from the least over the median to the largest, and a summary of all. What
// has so few already stays as it is.
func quantiles(samples []float64, had *record.Sampled) ([]float64, *record.Sampled) {
	if len(samples) <= mostSamples {
		return samples, had
	}
	all := slices.Sorted(slices.Values(samples))
	out := make([]float64, mostSamples)
	for i := range out {
		out[i] = rounded(all[i*(len(all)-1)/(mostSamples-1)])
	}
	out[mostSamples/2] = median(all)
	return out, &record.Sampled{Count: len(all), Quartiles: [2]float64{all[len(all)/4], all[len(all)*3/4]}}
}

// rounded returns a number with five digits.
func rounded(x float64) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	return x
}

// onePerKind returns of the timelines of each kind the last, which is the highest rung or the largest product. Threads
// have a kind a schedule.
func onePerKind(traces []record.Trace) []record.Trace {
	kind := func(t record.Trace) string {
		family, _, _ := strings.Cut(t.Variant, "/")
		return fmt.Sprint(t.Host, family, t.Type, t.Experiment, len(t.Inside) > 0, t.Params["schedule"])
	}
	out := []record.Trace{}
	for i, t := range traces {
		if !slices.ContainsFunc(traces[i+1:], func(later record.Trace) bool { return kind(later) == kind(t) }) {
			out = append(out, t)
		}
	}
	return out
}
