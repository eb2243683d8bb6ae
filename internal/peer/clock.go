package peer

import (
	"fmt"
	"time"

	"gemm/internal/note"
)

// clocks are the time by the clock of this process, and the processor time of another one; 0: unknown.
type clocks struct{ wall, cpu time.Duration }

// epoch is a moment before all clocks.
var epoch = time.Now()

// clockCheck compares the times that a process reports with clocks outside of it. What else a request costs is known
// from requests that call nothing.
type clockCheck struct {
	threads int // that calls may use
	times   int // calls of a request
	runs    int // requests that called nothing
	nothing clocks
	least   time.Duration // by which the clocks exceeded what may be, in the least suspicious request
	excess  float64       // the ratio of that request
	asked   int           // requests that computed
	far     int           // of them took far longer than reported
	farther float64       // the largest of their ratios
}

// idleRuns is the number of requests that call nothing, and idleTime the time from which one is enough. A request
// may take a quarter longer than the process reports, and slack. Fewer than leastAsked may all have been disturbed.
// Threads may spin for spinTime behind a call, and keep a processor from the rest of the request.
const (
	leastAsked = 5
	slack      = 50 * time.Microsecond
	spinTime   = 20 * time.Millisecond
	idleRuns   = 5
	idleTime   = 10 * time.Millisecond
)

// begins reports whether a request that calls nothing is needed before requests of n calls.
func (p *clockCheck) begins(n int) bool {
	if p.times != n {
		*p = clockCheck{threads: p.threads, times: n}
	}
	return p.runs < idleRuns && (p.runs == 0 || p.nothing.wall < idleTime)
}

// idle adds the time of a request that called nothing.
func (p *clockCheck) idle(at clocks) {
	if p.runs++; p.runs == 1 {
		p.nothing = at
	}
	p.nothing = clocks{min(p.nothing.wall, at.wall), min(p.nothing.cpu, at.cpu)}
}

// add adds the time of a request, and what the process says that the calls took. Other load makes the time longer, and
// threads that spin the processor time: the smaller one counts, of the request that is the least suspicious.
func (p *clockCheck) add(at clocks, reported time.Duration) {
	if p.runs == 0 {
		return
	}
	took := at.wall - p.nothing.wall
	if at.cpu > 0 {
		took = min(took, at.cpu-p.nothing.cpu)
	}
	if beyond := took - reported - reported/4 - slack; p.asked == 0 || beyond < p.least {
		p.least, p.excess = beyond, float64(took)/float64(reported)
	}
	most := 3*reported + p.nothing.wall + 4*slack
	if p.threads > 1 {
		most += spinTime
	}
	if at.cpu > 0 && took > most {
		p.far++
		p.farther = max(p.farther, float64(took)/float64(reported))
	}
	p.asked++
}

// err returns an error if no request was as short as the process reports, or a tenth were far from it: a process may
// report some times right.
func (p *clockCheck) err() error {
	switch {
	case p.asked < leastAsked:
		return nil
	case p.far > 1 && 10*p.far > p.asked:
		p.excess = p.farther
	case p.least <= 0:
		return nil
	}
	return note.Suspect{Reason: fmt.Sprintf(
		"its calls take %.3g times as long as its process reports: it changes the clock, or works outside of the time",
		p.excess)}
}
