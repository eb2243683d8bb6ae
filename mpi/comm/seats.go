package comm

import (
	"fmt"
	"slices"

	"gemm/mpi/plan"
)

// Seats makes the communicators that algorithms on grids need, each once: MPI has few, and they
// live as long as the job. All ranks make the same calls in the same order.
type Seats struct {
	world  *Comm
	firsts map[int]*Comm // by the number of ranks; nil on the other ranks
	grids  map[string]*Seat
	heads  map[string]*Comm // by the hosts of the ranks
}

// Seat is the position of this rank in a grid of one or more layers. All fields are nil on ranks outside of it.
type Seat struct {
	Ranks   *Comm // all ranks of the grid, in the order of their numbers
	Layer   *Grid // the layer of this rank
	Through *Comm // the ranks at the same row and column of every layer; nil if there is one
}

// NewSeats returns the seats of the ranks of world.
func NewSeats(world *Comm) *Seats {
	return &Seats{world: world, firsts: map[int]*Comm{world.Size(): world}, grids: map[string]*Seat{},
		heads: map[string]*Comm{}}
}

// First returns the communicator of the first n ranks, and nil on the others.
func (s *Seats) First(n int) (*Comm, error) {
	if c, ok := s.firsts[n]; ok {
		return c, nil
	}
	colour := 0
	if s.world.Rank() >= n {
		colour = -1
	}
	c, err := s.world.Split(colour, s.world.Rank())
	if err == nil {
		s.firsts[n] = c
	}
	return c, err
}

// Heads returns the communicator of the first rank of each host, and nil on the others. hosts are the hosts of
// all ranks.
func (s *Seats) Heads(hosts []int) (*Comm, error) {
	key := fmt.Sprint(hosts)
	if c, ok := s.heads[key]; ok {
		return c, nil
	}
	rank, colour := s.world.Rank(), -1
	if slices.Index(hosts, hosts[rank]) == rank {
		colour = 0
	}
	c, err := s.world.Split(colour, rank)
	if err == nil {
		s.heads[key] = c
	}
	return c, err
}

// In returns the seat of this rank in a grid of the first ranks.
func (s *Seats) In(g plan.Layout) (*Seat, error) {
	key := fmt.Sprint(g.Grid, g.Order)
	if seat, ok := s.grids[key]; ok {
		return seat, nil
	}
	seat := &Seat{}
	var err error
	if seat.Ranks, err = s.First(g.Ranks()); err != nil {
		return nil, err
	}
	if seat.Ranks != nil {
		rank := s.world.Rank()
		row, col, l := g.At(rank)
		layer := seat.Ranks
		if g.C > 1 || !g.Ordered() {
			if layer, err = seat.Ranks.Split(l, g.Place(rank)); err != nil {
				return nil, err
			}
		}
		if g.C > 1 {
			if seat.Through, err = seat.Ranks.Split(row*g.Q+col, l); err != nil {
				return nil, err
			}
		}
		if seat.Layer, err = layer.NewGrid(g.P, g.Q); err != nil {
			return nil, err
		}
	}
	s.grids[key] = seat
	return seat, nil
}
