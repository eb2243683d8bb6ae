package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/page"
)

// sgemm is the rows of python -m gemm_suite.sgemm for a shape, next to the rows of the collection of SGEMM kernels.
type sgemm struct {
	Shape page.Text
	Rows  []sgemmRow
}

// sgemmRow has times in milliseconds, and cuBLAS's time divided by them. What was not measured is not above 0, or Inf.
type sgemmRow struct {
	Label, By                       string
	Ours, Theirs, Ratio, TheirRatio float64
}

// SGEMM returns the rows of all shapes of texts/sgemm.csv. Each row of the collection must be among ours.
func (r *committed) SGEMM() ([]sgemm, error) {
	lines, err := csv.NewReader(strings.NewReader(text("sgemm.csv"))).ReadAll()
	if err != nil {
		return nil, err
	}
	var all []sgemm
	for _, line := range lines[1:] {
		ours, theirs := map[string]float64{}, map[string]float64{}
		for i, label := range lines[0][1:] {
			if theirs[label], err = strconv.ParseFloat(line[i+1], 64); err != nil {
				return nil, err
			}
		}
		mine := analysis.Pick(r.Measurements, func(m record.Measurement) bool {
			p := m.Params
			return m.Name == "sgemm" && fmt.Sprintf("%vx%vx%v", p["m"], p["n"], p["k"]) == line[0]
		})
		of := sgemm{Shape: page.Text(strings.ReplaceAll(line[0], "x", "×"))}
		for _, m := range mine {
			if len(m.Samples) > 0 {
				ours[fmt.Sprint(m.Params["label"])] = 1e3 * median(m.Samples)
			}
		}
		for _, m := range mine {
			label, library := fmt.Sprint(m.Params["label"]), "f32(cublas)"
			if strings.HasPrefix(label, "tf32") {
				library = "tf32(cublas+tf32)"
			}
			of.Rows = append(of.Rows, sgemmRow{label, fmt.Sprint(m.Params["by"]), ours[label], theirs[label],
				ours[library] / ours[label], theirs[library] / theirs[label]})
		}
		for _, label := range lines[0][1:] {
			if ours[label] == 0 {
				return nil, fmt.Errorf("results/%s: %s has no time of %s", r.Name, line[0], label)
			}
		}
		all = append(all, of)
	}
	return all, nil
}

// known returns the text of a number, nothing if it was not measured.
func known(x float64, text string) string {
	if !(x > 0) || math.IsInf(x, 0) {
		return ""
	}
	return text
}
