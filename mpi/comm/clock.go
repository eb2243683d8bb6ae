package comm

import (
	"fmt"
	"math"
	"os"

	"gemm"
)

// clockRounds is the number of messages by which two clocks are compared.
const clockRounds = 16

// tagClock is the tag of these messages.
const tagClock = 1 << 10

// clockRound is a message to another rank and its answer, with times in seconds: when it was sent and when the answer
// arrived, by the own clock, and when it reached the other rank, by the clock there.
type clockRound struct{ sent, there, back float64 }

// clockOffset returns how far the other clock is ahead of the own one, and the limit of the error. The message reached
// the other rank at some time between sent and back. clockOffset takes the middle of the shortest round; the error is
// at most half of that round, however unequal both ways are (Cristian, Probabilistic clock synchronization, 1989).
func clockOffset(rounds []clockRound) (seconds, within float64) {
	within = math.Inf(1)
	for _, r := range rounds {
		if half := (r.back - r.sent) / 2; half < within {
			seconds, within = r.there-(r.sent+half), half
		}
	}
	return seconds, within
}

// ClockOffset returns, on rank 0, how far the clock of a rank is ahead of its own, in seconds, and the limit of the
// error. Rank 0 and this rank call it; now is the clock of the caller.
func (c *Comm) ClockOffset(rank int, now func() float64) (seconds, within float64, err error) {
	word, first, then, peer := gemm.NewMatrix[float64](1, 1), Send[float64], Recv[float64], rank
	if c.rank != 0 {
		first, then, peer = then, first, 0
	}
	var rounds []clockRound
	for range clockRounds {
		round := clockRound{sent: now()}
		if err := first(c, word, peer, tagClock); err != nil {
			return 0, 0, err
		}
		if c.rank != 0 {
			word.Data[0] = now()
		}
		if err := then(c, word, peer, tagClock); err != nil {
			return 0, 0, err
		}
		round.back, round.there = now(), word.Data[0]
		rounds = append(rounds, round)
	}
	if c.rank != 0 {
		return 0, 0, nil
	}
	seconds, within = clockOffset(rounds)
	return seconds, within, nil
}

// privateClock is the name of a clock that only this process is known to read.
func privateClock() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s %d", host, os.Getpid())
}
