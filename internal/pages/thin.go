package pages

import "gemm/compare"

// Thin returns doc with at most most samples a row, at equal distances in the order in
// which they were taken. Medians, intervals and speeds stay as they were computed from
// all samples; tests of two rows are made on the samples that are left. Measurements,
// whose medians are not in the document, keep theirs.
func Thin(doc compare.Document, most int) compare.Document {
	for i := range doc.Records {
		doc.Records[i].Samples = every(doc.Records[i].Samples, most)
	}
	return doc
}

// every returns at most most of the values, at equal distances.
func every(values []float64, most int) []float64 {
	if len(values) <= most {
		return values
	}
	out := make([]float64, most)
	for i := range out {
		out[i] = values[i*len(values)/most]
	}
	return out
}
