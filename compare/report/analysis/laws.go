package analysis

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// law is a law of one parameter fitted to times over threads.
type law struct {
	Serial   float64   // the serial fraction
	Lo, Hi   float64   // what the scatter about the law leaves for it; NaN with one point, which fits any fraction
	Residual []float64 // what is measured over what the law says, less 1, by point
	Largest  float64   // the largest residual, without its sign
}

// amdahl fits Amdahl's law T(p)/T(1) = f + (1−f)/p to relative times on p ≥ 2 threads (Validity of
// the single processor approach to achieving large scale computing capabilities, AFIPS 30, 1967).
//
// With x = 1 − 1/p and y = T(p)/T(1) − 1/p it is y = f·x, a line through the origin.
func amdahl(threads []int, relative []float64) law {
	x, y, weight := make([]float64, len(threads)), make([]float64, len(threads)), make([]float64, len(threads))
	for i, p := range threads {
		x[i], y[i] = 1-1/float64(p), relative[i]-1/float64(p)
		weight[i] = 1 / (relative[i] * relative[i])
	}
	l := through(x, y, weight)
	for i, p := range threads {
		l.note(relative[i], l.Serial+(1-l.Serial)/float64(p))
	}
	return l
}

// gustafson fits Gustafson's law S(p) = p − s·(p−1) to scaled speed-ups on p ≥ 2 threads: the ratio
// of the work that p threads do in the time of one thread to the work of one (Reevaluating Amdahl's
// law, CACM 31(5), 1988).
//
// With x = p − 1 and y = p − S(p) it is y = s·x, a line through the origin.
func gustafson(threads []int, scaled []float64) law {
	x, y, weight := make([]float64, len(threads)), make([]float64, len(threads)), make([]float64, len(threads))
	for i, p := range threads {
		x[i], y[i] = float64(p-1), float64(p)-scaled[i]
		weight[i] = 1 / (scaled[i] * scaled[i])
	}
	l := through(x, y, weight)
	for i, p := range threads {
		l.note(scaled[i], float64(p)-l.Serial*float64(p-1))
	}
	return l
}

// through fits y = s·x. The weights make relative errors of the measurements count alike: times
// scatter in proportion to themselves. Lo and Hi are Student's 95 % interval for points that
// scatter independently about the line. They are not an interval of the fraction: all points share
// the time on one thread, and its noise moves them together, which their scatter does not show.
func through(x, y, weight []float64) law {
	l := law{Lo: math.NaN(), Hi: math.NaN()}
	_, l.Serial = stat.LinearRegression(x, y, weight, true)
	if len(x) < 2 {
		return l
	}
	var squares, spread float64
	for i := range x {
		r := y[i] - l.Serial*x[i]
		squares += weight[i] * r * r
		spread += weight[i] * x[i] * x[i]
	}
	free := float64(len(x) - 1)
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: free}.Quantile(0.975) * math.Sqrt(squares/free/spread)
	l.Lo, l.Hi = l.Serial-half, l.Serial+half
	return l
}

// note adds the residual of one point.
func (l *law) note(measured, fitted float64) {
	r := measured/fitted - 1
	l.Residual = append(l.Residual, r)
	l.Largest = max(l.Largest, math.Abs(r))
}

// KarpFlatt returns the serial fraction e = (1/ψ − 1/p)/(1 − 1/p) of a speed-up ψ on p threads
// (Karp and Flatt, Measuring parallel processor performance, CACM 33(5), 1990). If Amdahl's law
// holds, it is the same for all p, unlike an efficiency. If it grows with p, there is overhead. It
// is negative if p threads are more than p times as fast.
func KarpFlatt(speedup float64, p int) float64 {
	share := 1 / float64(p)
	return (1/speedup - share) / (1 - share)
}
