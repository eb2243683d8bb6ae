package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// statuses are all that a row can have.
var statuses = []Status{OK, Wrong, Skipped, Unavailable, Timeout, Failed}

// check returns an error unless d can be what this program has written: nothing is empty, the
// outcomes are known, and no size or time is negative.
func (d Document) check() error {
	for i, h := range d.Hosts {
		if h.ID == "" {
			return fmt.Errorf("host %d has no id", i+1)
		}
	}
	for i, r := range d.Runs {
		if r.ID == "" {
			return fmt.Errorf("run %d has no id", i+1)
		}
	}
	for i, r := range d.Records {
		if err := r.check(); err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
	}
	for i, m := range d.Measurements {
		if m.Name == "" {
			return fmt.Errorf("measurement %d has no name", i+1)
		}
	}
	for i, t := range d.Traces {
		if t.Variant == "" {
			return fmt.Errorf("timeline %d has no variant", i+1)
		}
	}
	return nil
}

// check returns an error unless r can be a row.
func (r Record) check() error {
	switch {
	case r.Variant == "":
		return errors.New("it has no variant")
	case r.Type == "":
		return fmt.Errorf("%s has no type", r.Variant)
	case !slices.Contains(statuses, r.Status):
		return fmt.Errorf("%s has the status %q: the statuses are %q", r.Variant, r.Status, statuses)
	}
	type figure struct {
		name  string
		value float64
	}
	figures := []figure{
		{"m", float64(r.M)}, {"n", float64(r.N)}, {"k", float64(r.K)},
		{"lda", float64(r.LDA)}, {"ldb", float64(r.LDB)}, {"ldc", float64(r.LDC)},
		{"threads", float64(r.Threads)}, {"inner", float64(r.Inner)}, {"ranks_used", float64(r.RanksUsed)},
		{"median_s", float64(r.Median)}, {"gflops", float64(r.Gflops)}, {"rate", float64(r.Rate)},
		{"data_gbps", float64(r.DataGBps)}, {"percent_peak", float64(r.PercentPeak)}, {"ceiling_gflops", r.Ceiling},
		{"residual", float64(r.Residual)}, {"bound", float64(r.Bound)}, {"model_s", r.ModelSeconds},
	}
	for _, s := range r.Samples {
		figures = append(figures, figure{"one of samples_s", s})
	}
	if r.CI != nil {
		figures = append(figures, figure{"the start of ci_s", r.CI[0]}, figure{"the length of ci_s", r.CI[1] - r.CI[0]})
	}
	for name, s := range r.Phases {
		figures = append(figures, figure{name + " of phases_s", s})
	}
	for _, f := range figures {
		if f.value < 0 { // NaN is none
			return fmt.Errorf("%s: %s is %v: it is never negative", r.Variant, f.name, f.value)
		}
	}
	switch {
	case r.Status == OK && r.Median == 0:
		return fmt.Errorf("%s: median_s is 0: no product takes no time", r.Variant)
	case r.Status == OK && r.Residual > r.Bound:
		return fmt.Errorf("%s is %s, and its residual %v is above its bound %v", r.Variant, OK, r.Residual, r.Bound)
	}
	return nil
}

// jsonKinds are the names of what a JSON value should be, by the kind that it is read as.
var jsonKinds = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "true or false", reflect.Float64: "a number",
	reflect.Int: "an integer", reflect.Int64: "an integer",
	reflect.Slice: "a list", reflect.Array: "a list", reflect.Struct: "an object", reflect.Map: "an object",
}

// plain returns an error of package json without the names of the types that it reads into.
func plain(err error) error {
	var kind *json.UnmarshalTypeError
	var moment *time.ParseError
	switch {
	case errors.As(err, &kind):
		// Embedded structs are in the path by their names, which are no names of members.
		name := strings.Join(slices.DeleteFunc(strings.Split(kind.Field, "."), func(part string) bool {
			return part != strings.ToLower(part)
		}), ".")
		if name == "" {
			name = "it"
		}
		want, ok := jsonKinds[kind.Type.Kind()]
		if !ok {
			want = "something else"
		}
		return fmt.Errorf("%s is a JSON %s and should be %s", name, kind.Value, want)
	case errors.As(err, &moment):
		return fmt.Errorf("%s is no time, such as 2026-01-31T12:00:00Z", moment.Value)
	}
	return err
}
