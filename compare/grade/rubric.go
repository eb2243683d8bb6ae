package grade

import (
	"cmp"
	"math"
	"slices"

	"gemm"
	"gemm/compare/record"
	"gemm/internal/note"
	"gemm/user"
)

// mark sets the marks of all results by their rows: a pure function of the assignment and the rows. hidden says whether
// the hidden shapes were measured.
func (a *Assignment) mark(results []Result, hidden bool) {
	shapes := a.shapes(true)
	speeds := make([]ratio, len(results))
	for i := range results {
		speeds[i] = results[i].ratio(ofPeak)
	}
	for i := range results {
		r := &results[i]
		r.Marks, r.Points, r.Most = nil, 0, 0
		for _, c := range a.Rubric {
			m := Mark{Criterion: c.Name, Most: c.Points, Value: record.None()}
			switch {
			case r.Fault.Text != "":
				m.Why = []note.Note{r.Fault}
			case c.Right != "":
				c.right(&m, *r, shapes, hidden)
			case c.Speed == ofRank && len(results) == 1:
				m.Most, m.Why = 0, []note.Note{note.New("grade-rank")}
			case c.Speed == ofRank:
				c.speed(&m, speeds[i].rank(i, speeds))
			default:
				c.speed(&m, r.ratio(c.Speed))
			}
			r.Marks = append(r.Marks, m)
			r.Points += m.Points
			r.Most += m.Most
		}
	}
}

// row returns the row of a variant at a shape.
func (r *Result) row(s gemm.Shape, variant string) *record.Record {
	i := slices.IndexFunc(r.Rows, func(x record.Record) bool { return x.Shape == s && x.Variant == variant })
	if i < 0 {
		return &record.Record{Status: record.Skipped}
	}
	return &r.Rows[i]
}

// name is the variant of the submission in its rows.
func (r *Result) name() string { return user.Family + "/" + r.Submission }

// right marks the shapes of a class.
func (c Criterion) right(m *Mark, r Result, shapes []shape, hidden bool) {
	count, right := 0.0, 0.0
	for _, s := range shapes {
		if !classes[c.Right](s) || s.hidden && !hidden {
			continue
		}
		count++
		if row := r.row(s.Shape, r.name()); row.Status == record.OK {
			right++
		} else {
			m.Why = append(m.Why, note.New("grade-row", s.Label(), row.Status, row.Reason.Text))
		}
	}
	if count == 0 {
		m.Most, m.Why = 0, []note.Note{note.New("grade-hidden")}
		return
	}
	share := right / count
	m.Value = record.Number(share)
	if share == 1 || !c.Whole {
		m.Points = c.rounded(share)
	}
}

// rounded returns the points of a share, in steps.
func (c Criterion) rounded(share float64) float64 {
	points := math.Round(c.Points*share/c.Step) * c.Step
	return min(c.Points, math.Round(points*1e6)/1e6)
}

// points returns the points of a ratio of speeds.
func (c Criterion) points(x float64) float64 {
	if !(x > c.From) {
		return 0
	}
	return c.rounded(min(1, (x-c.From)/(c.To-c.From)))
}

// speed marks a ratio.
func (c Criterion) speed(m *Mark, x ratio) {
	if m.Why = x.why; x.why != nil {
		return
	}
	m.Value, m.Points = record.Number(x.value), c.points(x.value)
	if !x.few {
		m.Interval = &[2]float64{x.lo, x.hi}
	}
}

// ratio is a ratio of speeds and the interval that holds it with a probability of 95 %, or the range of few samples.
type ratio struct {
	value, lo, hi float64
	few           bool
	why           []note.Note // there is none
}

// ratio returns the mean over all shapes of the speed over the peak or over the speed of a variant.
func (r *Result) ratio(of string) (out ratio) {
	n := 0.0
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Variant != r.name() {
			continue
		}
		other := r.row(row.Shape, of)
		to, fastest, lo, hi := float64(other.Gflops), undisturbed(row), 1.0, 1.0
		switch {
		case !row.Speed():
			return ratio{why: []note.Note{note.New("grade-speed", row.Label(), row.Status)}}
		case of == ofPeak && row.Ceiling > 0:
			to = row.Ceiling
		case of == ofPeak: // of a GPU
			to = 100 * float64(row.Gflops/row.PercentPeak)
		default:
			lo, hi = bounds(other)
			out.few = out.few || other.CI == nil
			fastest /= undisturbed(other)
		}
		if of != ofPeak && !other.Speed() || !(to > 0) {
			reason := cmp.Or(other.Reason.Text, "there is none")
			out.why = append(out.why, note.New("grade-other", of, row.Label(), reason))
			continue
		}
		x := float64(row.Gflops) / to
		slow, fast := bounds(row)
		out.value, n, out.few = out.value+x*fastest, n+1, out.few || row.CI == nil
		out.lo, out.hi = out.lo+x*min(fastest, slow/hi), out.hi+x*max(fastest, fast/lo)
	}
	out.value, out.lo, out.hi = out.value/n, out.lo/n, out.hi/n
	return out
}

// undisturbed returns the speed that a tenth of the samples of a row exceed, relative to its speed, which is of their
// median. Other load can only make a sample longer.
func undisturbed(r *record.Record) float64 {
	if len(r.Samples) == 0 {
		return 1
	}
	return float64(r.Median) / slices.Sorted(slices.Values(r.Samples))[(len(r.Samples)-1)/10]
}

// bounds returns the interval of the speed of a row, or the range of its samples, relative to its speed.
func bounds(r *record.Record) (slow, fast float64) {
	ci := r.CI
	if ci == nil && len(r.Samples) > 0 {
		ci = &[2]float64{slices.Min(r.Samples), slices.Max(r.Samples)}
	} else if ci == nil {
		return 1, 1
	}
	return float64(r.Median) / ci[1], float64(r.Median) / ci[0]
}

// rank returns the share of the other ratios that are not above x with their whole interval.
func (x ratio) rank(i int, all []ratio) ratio {
	if x.why != nil {
		return x
	}
	count := 0.0
	for j, y := range all {
		if j != i && (y.why != nil || !(y.lo > x.hi)) {
			count++
		}
	}
	return ratio{value: count / float64(len(all)-1)}
}
