// Package clocks is the clock of a process, and how it is compared with the clocks of other processes.
package clocks

import "math"

// Round is a message to another process and its answer: when it was sent and when the answer came, by
// the own clock, and when it was there, by the other clock. Times are in seconds.
type Round struct{ Sent, There, Back float64 }

// Ahead returns how far the other clock is ahead of the own one, and the limit of the error. The message was there at
// some time between Sent and Back. Ahead takes the middle of the shortest round; the error is at most half of that
// round, however unequal both ways are (Cristian, Probabilistic clock synchronization, 1989).
func Ahead(rounds []Round) (seconds, within float64) {
	within = math.Inf(1)
	for _, r := range rounds {
		if half := (r.Back - r.Sent) / 2; half < within {
			seconds, within = r.There-(r.Sent+half), half
		}
	}
	return seconds, within
}
