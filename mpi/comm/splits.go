package comm

import (
	"fmt"
	"slices"

	"gemm/mpi/plan"
)

// Splits makes the communicators that algorithms need, each once: MPI has few, and they exist as long as the job. All
// ranks make the same calls in the same order.
type Splits struct {
	world *Comm
	made  map[string]*Comm // by the part of the ranks; nil if this rank is not in it
	grids map[string]*Grid
}

// Grid is the communicators of this rank in a grid of one or more layers. All fields are nil on ranks outside of it.
type Grid struct {
	Ranks   *Comm // all ranks of the grid, in the order of their numbers
	Row     *Comm // the ranks (I, 0 … Q−1) of the layer
	Col     *Comm // the ranks (0 … P−1, J) of the layer
	Through *Comm // the ranks at the same row and column of every layer; nil if there is one layer
}

// NewSplits returns the splits of world.
func NewSplits(world *Comm) *Splits {
	return &Splits{world: world, made: map[string]*Comm{}, grids: map[string]*Grid{}}
}

// some returns the communicator of a part of the ranks, and nil on the others. The key identifies the part.
func (s *Splits) some(key string, member bool) (*Comm, error) {
	if c, ok := s.made[key]; ok {
		return c, nil
	}
	colour := 0
	if !member {
		colour = -1
	}
	c, err := s.world.Split(colour, s.world.Rank())
	if err == nil {
		s.made[key] = c
	}
	return c, err
}

// First returns the communicator of the first n ranks, and nil on the others.
func (s *Splits) First(n int) (*Comm, error) {
	if n == s.world.Size() {
		return s.world, nil
	}
	return s.some(fmt.Sprint("first ", n), s.world.Rank() < n)
}

// Leaders returns the communicator of the first rank of each host, and nil on the others. hosts are the hosts of
// all ranks.
func (s *Splits) Leaders(hosts []int) (*Comm, error) {
	rank := s.world.Rank()
	return s.some(fmt.Sprint("leaders ", hosts), slices.Index(hosts, hosts[rank]) == rank)
}

// Grid returns the communicators of this rank in a grid of the first ranks.
func (s *Splits) Grid(l plan.Layout) (*Grid, error) {
	key := fmt.Sprint(l.Grid, l.Order)
	if g, ok := s.grids[key]; ok {
		return g, nil
	}
	g := &Grid{}
	var err error
	if g.Ranks, err = s.First(l.Ranks()); err != nil {
		return nil, err
	}
	if g.Ranks != nil {
		i, j, layer := l.At(s.world.Rank())
		if g.Row, err = g.Ranks.Split(layer*l.P+i, j); err != nil {
			return nil, err
		}
		if g.Col, err = g.Ranks.Split(layer*l.Q+j, i); err != nil {
			return nil, err
		}
		if l.C > 1 {
			if g.Through, err = g.Ranks.Split(i*l.Q+j, layer); err != nil {
				return nil, err
			}
		}
	}
	s.grids[key] = g
	return g, nil
}
