package mpi

import (
	"fmt"
	"time"
)

// exitGrace is how long after the time limit a rank ends itself. Rank 0 gives a row up
// earlier, so that this is for ranks that learn of nothing any more: their mpirun may be on a
// host that is cut off. Tests have less of it.
var exitGrace = 15 * time.Second

// watch ends this process if a rank waits for others for too long.
type watch struct {
	limit time.Duration // 0: none
	lost  func(reason string)
}

// Limit has every rank end itself where it waits for others for longer than the limit, which
// is of a row, and a grace of 15 s. 0 is no limit. Rank 0 calls it before it leads the others;
// lost is called on any goroutine of rank 0, and must end the process.
func (j *Job) Limit(limit time.Duration, lost func(reason string)) error {
	j.watch = watch{limit, lost}
	defer j.within("the limit")()
	return j.tell(command{Do: doLimit, Left: limit})
}

// within has the process end where stop is not called in time.
func (j *Job) within(what string) (stop func()) {
	w := j.watch
	if w.limit <= 0 || w.lost == nil {
		return func() {}
	}
	timer := time.AfterFunc(w.limit+exitGrace, func() {
		w.lost(fmt.Sprintf("rank %d ends itself: %s takes longer than the limit of %v and %v of grace", j.Rank(), what, w.limit, exitGrace))
	})
	return func() { timer.Stop() }
}
