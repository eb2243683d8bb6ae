package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gemm/compare/record"
	"gemm/internal/output"
)

// csvColumns are the columns of a table of records, in their order. Their names are the members in JSON, with these
// exceptions: ci_low_s and ci_high_s are the ends of ci_s; samples and ranks are numbers of them; predicted_… are the
// members of predicted. params, resolved and phases_s are "name=value" separated by spaces; warnings are separated by
// "; ". A text that a spreadsheet would evaluate begins with an apostrophe, and one of several lines is one Line. Later
// versions may add columns at the end; none changes its place or meaning.
var csvColumns = []struct {
	name  string
	value func(record.Record) string
}{
	{"host", func(r record.Record) string { return r.Host }},
	{"run", func(r record.Record) string { return r.Run }},
	{"experiment", func(r record.Record) string { return string(r.Experiment) }},
	{"variant", func(r record.Record) string { return r.Variant }},
	{"build", func(r record.Record) string { return r.Build }},
	{"type", func(r record.Record) string { return r.Type }},
	{"compute", func(r record.Record) string { return r.Compute }},
	{"op", func(r record.Record) string { return r.Op }},
	{"alpha", func(r record.Record) string { return csvNumber(r.Alpha) }},
	{"beta", func(r record.Record) string { return csvNumber(r.Beta) }},
	{"m", func(r record.Record) string { return strconv.Itoa(r.M) }},
	{"n", func(r record.Record) string { return strconv.Itoa(r.N) }},
	{"k", func(r record.Record) string { return strconv.Itoa(r.K) }},
	{"lda", func(r record.Record) string { return strconv.Itoa(r.LDA) }},
	{"ldb", func(r record.Record) string { return strconv.Itoa(r.LDB) }},
	{"ldc", func(r record.Record) string { return strconv.Itoa(r.LDC) }},
	{"threads", func(r record.Record) string { return strconv.Itoa(r.Threads) }},
	{"params", func(r record.Record) string { return r.Params.String() }},
	{"resolved", func(r record.Record) string { return r.Resolved.String() }},
	{"status", func(r record.Record) string { return string(r.Status) }},
	{"reason", func(r record.Record) string { return r.Reason.Text }},
	{"warnings", func(r record.Record) string {
		var texts []string
		for _, warning := range r.Cautions() {
			texts = append(texts, warning.Text)
		}
		return strings.Join(texts, "; ")
	}},
	{"samples", func(r record.Record) string { return strconv.Itoa(r.Count()) }},
	{"inner", func(r record.Record) string { return strconv.Itoa(r.Inner) }},
	{"turn", func(r record.Record) string { return r.Turn }},
	{"median_s", func(r record.Record) string { return csvNumber(r.Median) }},
	{"ci_low_s", func(r record.Record) string { return csvEnd(r, 0) }},
	{"ci_high_s", func(r record.Record) string { return csvEnd(r, 1) }},
	{"gflops", func(r record.Record) string { return csvNumber(r.Gflops) }},
	{"rate", func(r record.Record) string { return csvNumber(r.Rate) }},
	{"unit", func(r record.Record) string { return r.Unit }},
	{"data_gbps", func(r record.Record) string { return csvNumber(r.DataGBps) }},
	{"percent_peak", func(r record.Record) string { return csvNumber(r.PercentPeak) }},
	{"residual", func(r record.Record) string { return csvNumber(r.Residual) }},
	{"bound", func(r record.Record) string { return csvNumber(r.Bound) }},
	{"bound_kind", func(r record.Record) string { return string(r.BoundKind) }},
	{"predicted_flops", func(r record.Record) string { return csvNumber(prediction(r).Flops) }},
	{"predicted_accesses", func(r record.Record) string { return csvNumber(prediction(r).Accesses) }},
	{"predicted_workspace_bytes", func(r record.Record) string { return csvNumber(prediction(r).Workspace) }},
	{"predicted_l1_traffic_bytes", func(r record.Record) string { return csvNumber(prediction(r).L1Traffic) }},
	{"predicted_l2_traffic_bytes", func(r record.Record) string { return csvNumber(prediction(r).L2Traffic) }},
	{"predicted_traffic_bytes", func(r record.Record) string { return csvNumber(prediction(r).Traffic) }},
	{"phases_s", func(r record.Record) string { return csvPhases(r.Phases) }},
	{"ranks", func(r record.Record) string { return csvRanked(r, float64(len(r.Ranks))) }},
	{"ranks_used", func(r record.Record) string { return csvRanked(r, float64(r.RanksUsed)) }},
	{"bytes_counted", func(r record.Record) string { return csvRanked(r, float64(r.BytesCounted)) }},
	{"bytes_predicted", func(r record.Record) string { return csvRanked(r, float64(r.BytesPredicted)) }},
	{"bytes_bound", func(r record.Record) string { return csvRanked(r, r.BytesBound) }},
	{"bytes_between", func(r record.Record) string { return csvRanked(r, float64(r.BytesBetween)) }},
	{"bytes_between_predicted", func(r record.Record) string {
		return csvRanked(r, float64(r.BytesBetweenPredicted))
	}},
	{"model_s", func(r record.Record) string { return csvRanked(r, r.ModelSeconds) }},
	{"operands", func(r record.Record) string { return r.Operands }},
	{"power_w", csvPower},
	{"batch", csvBatch},
}

// CSV writes a header and a row for each record of doc, RFC 4180 with lines that
// end in LF. The cell of a number that is not there is empty.
func CSV(w io.Writer, doc record.Document) error {
	out := csv.NewWriter(w)
	cells := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		cells[i] = c.name
	}
	if err := out.Write(cells); err != nil {
		return err
	}
	for _, r := range doc.Settled().Records {
		for i, c := range csvColumns {
			cells[i] = csvText(output.Line(c.value(r)))
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvPower returns the power that the GPU took; empty if it is not known.
func csvPower(r record.Record) string {
	if r.GPU == nil || r.GPU.Power == 0 {
		return ""
	}
	return csvNumber(r.GPU.Power)
}

// csvBatch returns the products of a batch; empty: the row is of one product.
func csvBatch(r record.Record) string {
	if r.Batch == 0 {
		return ""
	}
	return strconv.Itoa(r.Batch)
}

// csvText returns the text of a cell. A spreadsheet evaluates a text that begins with =, +, - or @ as a formula. Such a
// text gets an apostrophe before it unless it is a number.
func csvText(text string) string {
	if text == "" || strings.IndexByte("=+-@", text[0]) < 0 {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}

// csvNumber returns x so that it reads back as the same number, or nothing where it is not finite.
func csvNumber[T ~float64](x T) string {
	if !record.Number(x).Known() {
		return ""
	}
	return strconv.FormatFloat(float64(x), 'g', -1, 64)
}

// csvRanked returns a figure of a row that several processes computed, nothing of others.
func csvRanked(r record.Record, x float64) string {
	if len(r.Ranks) == 0 {
		return ""
	}
	return csvNumber(x)
}

func csvEnd(r record.Record, end int) string {
	if r.CI == nil {
		return ""
	}
	return csvNumber(r.CI[end])
}

// prediction returns the model's prediction for r; NaN if there is none.
func prediction(r record.Record) record.Predicted {
	if r.Predicted == nil {
		nan := math.NaN()
		return record.Predicted{Flops: nan, Accesses: nan, Workspace: nan, L1Traffic: nan, L2Traffic: nan, Traffic: nan}
	}
	return *r.Predicted
}

func csvPhases(phases map[string]float64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(phases)) {
		parts = append(parts, fmt.Sprintf("%s=%s", name, csvNumber(phases[name])))
	}
	return strings.Join(parts, " ")
}

// JSON writes doc as gemm report reads it, a line a record.
func JSON(w io.Writer, doc record.Document) error {
	data, err := doc.Encode()
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
