package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"reflect"
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
var csvColumns = strings.Fields(`
	host run experiment variant build type compute op alpha beta m n k lda ldb ldc threads params resolved status reason
	warnings samples inner turn median_s ci_low_s ci_high_s gflops rate unit data_gbps percent_peak residual bound
	bound_kind predicted_flops predicted_accesses predicted_workspace_bytes predicted_l1_traffic_bytes
	predicted_l2_traffic_bytes predicted_traffic_bytes phases_s ranks ranks_used bytes_counted bytes_predicted bytes_bound
	bytes_between bytes_between_predicted model_s operands power_w batch`)

// csvRanked are the columns that only rows of several processes have.
var csvRanked = strings.Fields(`ranks ranks_used bytes_counted bytes_predicted bytes_bound bytes_between
	bytes_between_predicted model_s`)

// csvValues are the columns that are not a member in JSON as it is.
var csvValues = map[string]func(record.Record) string{
	"params":   func(r record.Record) string { return r.Params.String() },
	"resolved": func(r record.Record) string { return r.Resolved.String() },
	"reason":   func(r record.Record) string { return r.Reason.Text },
	"warnings": func(r record.Record) string {
		var texts []string
		for _, warning := range r.Cautions() {
			texts = append(texts, warning.Text)
		}
		return strings.Join(texts, "; ")
	},
	"samples":   func(r record.Record) string { return strconv.Itoa(r.Count()) },
	"ci_low_s":  func(r record.Record) string { return csvEnd(r, 0) },
	"ci_high_s": func(r record.Record) string { return csvEnd(r, 1) },
	"phases_s": func(r record.Record) string {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(r.Phases)) {
			parts = append(parts, fmt.Sprintf("%s=%s", name, csvNumber(r.Phases[name])))
		}
		return strings.Join(parts, " ")
	},
	"ranks": func(r record.Record) string { return strconv.Itoa(len(r.Ranks)) },
	"power_w": func(r record.Record) string { // of the GPU
		if r.GPU == nil || r.GPU.Power == 0 {
			return ""
		}
		return csvNumber(r.GPU.Power)
	},
	"batch": func(r record.Record) string {
		if r.Batch == 0 {
			return ""
		}
		return strconv.Itoa(r.Batch)
	},
}

func csvValue(r record.Record, column string) string {
	ranked := slices.Contains(csvRanked, column)
	if ranked && len(r.Ranks) == 0 {
		return ""
	}
	if value := csvValues[column]; value != nil {
		return value(r)
	}
	of := reflect.ValueOf(r)
	if member, predicted := strings.CutPrefix(column, "predicted_"); predicted {
		if column = member; r.Predicted == nil {
			return ""
		}
		of = reflect.ValueOf(*r.Predicted)
	}
	for _, f := range reflect.VisibleFields(of.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch v := of.FieldByIndex(f.Index); {
		case name != column:
		case v.CanFloat():
			return csvNumber(v.Float())
		case v.CanInt() && ranked:
			return csvNumber(float64(v.Int()))
		default:
			return fmt.Sprint(v.Interface())
		}
	}
	panic("report: records have no member " + column)
}

// CSV writes a header and a row for each record of doc, RFC 4180 with lines that
// end in LF. The cell of a number that is not there is empty.
func CSV(w io.Writer, doc record.Document) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvColumns); err != nil {
		return err
	}
	cells := make([]string, len(csvColumns))
	for _, r := range doc.WithPeaks().Records {
		for i, c := range csvColumns {
			cells[i] = output.Cell(csvValue(r, c))
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvNumber returns x so that it reads back as the same number, or nothing where it is not finite.
func csvNumber[T ~float64](x T) string {
	if !record.Number(x).Known() {
		return ""
	}
	return strconv.FormatFloat(float64(x), 'g', -1, 64)
}

func csvEnd(r record.Record, end int) string {
	if r.CI == nil {
		return ""
	}
	return csvNumber(r.CI[end])
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
