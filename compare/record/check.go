package record

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"gemm/internal/cpu"
)

// statuses are all that a row can have.
var statuses = []Status{OK, Wrong, Suspect, Skipped, Unavailable, Timeout, Failed}

// check returns an error unless this program can have written d: no name is empty, the outcomes are
// known, and every number is in its range.
func (d Document) check() error {
	return cmp.Or(
		all("host %d %w", d.Hosts, Host.check),
		all("variant %d %w", d.Variants, func(v Variant) error { return checked(v.Name, "no name", nil) }),
		all("run %d %w", d.Runs, func(r RunInfo) error { return checked(r.ID, "no id", nil) }),
		all("record %d: %w", d.Records, Record.check),
		all("measurement %d %w", d.Measurements, func(m Measurement) error { return checked(m.Name, "no name", m) }),
		all("timeline %d %w", d.Traces, func(t Trace) error { return checked(t.Variant, "no variant", t) }),
	)
}

// all returns the first error of a check of the items, in a text with the number of the item.
func all[T any](text string, items []T, check func(T) error) error {
	for i, x := range items {
		if err := check(x); err != nil {
			return fmt.Errorf(text, i+1, err)
		}
	}
	return nil
}

// checked returns an error unless x has a name, and its numbers are in their ranges; x may be nil.
func checked(name, without string, x any) error {
	if name == "" {
		return errors.New("has " + without)
	}
	if err := inRange("", reflect.ValueOf(x)); err != nil {
		return fmt.Errorf("(%s): %w", name, err)
	}
	return nil
}

func (h Host) check() error {
	if err := checked(h.ID, "no id", h); err != nil {
		return err
	}
	for _, c := range h.Ceilings {
		if !(c.Gflops > 0) {
			return fmt.Errorf("(%s): gflops of a ceiling is %s: it must be above 0", h.ID, c.Gflops.shown())
		}
	}
	for _, b := range h.Bandwidths {
		if !(b.GBps > 0) {
			return fmt.Errorf("(%s): gbps is %s: it must be above 0", h.ID, b.GBps.shown())
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
	if err := inRange("", reflect.ValueOf(r)); err != nil {
		return fmt.Errorf("%s: %w", r.Variant, err)
	}
	if r.CI != nil && !(r.CI[0] <= r.CI[1]) {
		return fmt.Errorf("%s: ci_s is %v: it must begin before it ends", r.Variant, *r.CI)
	}
	switch {
	case r.Count() < len(r.Samples):
		return fmt.Errorf("%s has %d samples, and sampled.count says %d", r.Variant, len(r.Samples), r.Count())
	case r.Status != OK:
	case r.Median == 0:
		return fmt.Errorf("%s: median_s is 0: no product takes no time", r.Variant)
	case !r.Median.Known(): // it was not timed
	case r.Type == "gf256" && !(r.Rate > 0):
		return fmt.Errorf("%s: rate is %s: a row with a time has one above 0", r.Variant, r.Rate.shown())
	case r.Type != "gf256" && !(r.Gflops > 0):
		return fmt.Errorf("%s: gflops is %s: a row with a time has one above 0", r.Variant, r.Gflops.shown())
	case r.Residual > r.Bound:
		return fmt.Errorf("%s is %s, and its residual %v is above its bound %v", r.Variant, OK, r.Residual, r.Bound)
	}
	return nil
}

// limits are the range of a number in records, with both ends. It may also be 0, which is not known, if that is said.
type limits struct {
	least, most float64
	unknown     bool
}

var (
	anything = limits{least: -math.MaxFloat64, most: math.MaxFloat64}
	amount   = limits{most: 1e18} // of bytes, elements, operations
	workers  = limits{most: 1 << 16}
	seconds  = limits{most: 1e9} // 30 years
	moment   = limits{least: -1e9, most: 1e9}
	speed    = limits{least: 1e-12, most: 1e12, unknown: true}
)

// ranges are the ranges of numbers by their names in JSON. A number without a name here is an amount, or in phases_s
// and counters has the range of these.
var ranges = map[string]limits{
	"alpha": anything, "beta": anything, "quartiles": anything, "ci": anything,
	"params": {least: -1e15, most: 1e15}, "resolved": {least: -1e15, most: 1e15},
	"residual": {most: math.MaxFloat64}, "bound": {most: math.MaxFloat64}, "counters": {most: math.MaxFloat64},
	"flops": {most: 1e30}, "accesses": {most: 1e30}, "l1_traffic_bytes": {most: 1e30},
	"l2_traffic_bytes": {most: 1e30}, "traffic_bytes": {most: 1e30}, "workspace_bytes": {most: 1e30},
	"median_s": seconds, "samples_s": seconds, "ci_s": seconds, "phases_s": seconds, "seconds": seconds,
	"begin_s": moment, "end_s": moment, "clock_error_s": seconds, "cut_s": moment,
	"model_s": amount, "model_latency_s": amount, "model_transfer_s": amount, "model_compute_s": amount,
	"gflops": speed, "rate": speed, "data_gbps": speed, "gbps": speed, "ceiling_gflops": speed,
	"percent_peak": {most: 1e9}, "occupancy": {most: 1}, "fill": {most: 1},
	"quota": {least: 1e-3, most: 1 << 16, unknown: true}, "node": {least: -1, most: 1 << 16},
	"threads": workers, "workers": workers, "ranks_used": workers, "rank": workers, "worker": workers, "lane": workers,
	"peer": workers, "cores": workers, "sockets": workers, "numa": workers, "hosts": workers,
	"multiprocessor": workers, "warpgroup": workers, "level": {most: 9},
}

// lists are the names of lists of processors, such as 0-3,8.
var lists = []string{"processors", "usable", "cores", "sets", "cpus"}

// inRange returns an error unless all numbers in v, which has the name in JSON, are in their ranges. NaN is absent.
func inRange(name string, v reflect.Value) error {
	number := math.NaN()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return inRange(name, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := inRange(name, v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if err := inRange(name, v.MapIndex(key)); err != nil {
				return fmt.Errorf("%s of %w", key, err)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			as, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if err := inRange(as, v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.String:
		if list := v.String(); slices.Contains(lists, name) && list != "" && cpu.ParseList(list) == nil {
			return fmt.Errorf("%s is %.40q: it must be a list of processors below %d", name, list, cpu.MaxProcessors)
		}
	case reflect.Float64:
		number = v.Float()
	case reflect.Int, reflect.Int64:
		number = float64(v.Int())
	}
	of, ok := ranges[name]
	if !ok {
		of = amount
	}
	if number < of.least && !(of.unknown && number == 0) || number > of.most {
		return fmt.Errorf("%s is %v: it must be from %v to %v", name, number, of.least, of.most)
	}
	return nil
}
