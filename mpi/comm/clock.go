package comm

import (
	"gemm"
	"gemm/mpi/clocks"
)

// clockRounds is how many messages are answered to compare two clocks.
const clockRounds = 16

// tagClock is the tag of their messages.
const tagClock = 1 << 10

// Ahead returns, on rank 0, how far the clock of a rank is ahead of its own, in seconds, and the limit
// of the error. Rank 0 and this rank call it; now is the clock of the caller.
func (c *Comm) Ahead(rank int, now func() float64) (seconds, within float64, err error) {
	word := gemm.Matrix[float64]{Rows: 1, Cols: 1, Stride: 1, Data: make([]float64, 1)}
	if c.rank != 0 {
		for range clockRounds {
			if err := Recv(c, word, 0, tagClock); err != nil {
				return 0, 0, err
			}
			word.Data[0] = now()
			if err := Send(c, word, 0, tagClock); err != nil {
				return 0, 0, err
			}
		}
		return 0, 0, nil
	}
	var rounds []clocks.Round
	for range clockRounds {
		round := clocks.Round{Sent: now()}
		if err := Send(c, word, rank, tagClock); err != nil {
			return 0, 0, err
		}
		if err := Recv(c, word, rank, tagClock); err != nil {
			return 0, 0, err
		}
		round.Back, round.There = now(), word.Data[0]
		rounds = append(rounds, round)
	}
	seconds, within = clocks.Ahead(rounds)
	return seconds, within, nil
}
