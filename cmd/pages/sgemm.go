package main

import (
	"encoding/csv"
	"fmt"
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

// sgemmRow has times in milliseconds, and cuBLAS's time divided by them. A cell is empty without a measurement.
type sgemmRow struct {
	Label, By, Ours, Theirs, Ratio, TheirRatio string
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
			of.Rows = append(of.Rows, sgemmRow{label, fmt.Sprint(m.Params["by"]), milliseconds(ours[label]),
				milliseconds(theirs[label]), over(ours, library, label), over(theirs, library, label)})
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

func milliseconds(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", x)
}

// over returns the quotient of two times.
func over(times map[string]float64, a, b string) string {
	if times[a] == 0 || times[b] == 0 {
		return ""
	}
	return digits(times[a] / times[b])
}
