package mpi

import (
	"gemm"
	"gemm/mpi/comm"
	"gemm/mpi/memory"
	"gemm/mpi/plan"
)

// copies are the copies of B that rank 0 broadcasts, in panels. If the ranks are on several hosts, there is one
// copy on each, which its ranks share. A panel crosses the network once for each host: rank 0 sends it to
// the first rank of each. That rank tells the others of its host when the panel is there, and they read
// it in place. Otherwise, and if the hosts lack the memory to share, each rank has its own copy.
//
//	hosts        0          0              1             1
//	ranks        0          1              2             3
//	panel 0      copies     is told        receives      is told
//	             B⁰ ──────────────────────→ B⁰
type copies[T gemm.Element] struct {
	job    *Job
	hosts  []int        // of the ranks whose copies are shared; each rank has its own if there is one a rank
	window *comm.Shared // nil: each rank has its own copy
	heads  *comm.Comm   // the ranks that receive panels; nil elsewhere
	b      []gemm.Matrix[T]
	told   []*comm.Request // messages to the other ranks of this host
}

// newCopies allocates copies of panels with the given numbers of columns, of rows rows each. All ranks call it.
func newCopies[T gemm.Element](j *Job, rows int, panels []plan.Span) (*copies[T], error) {
	x := &copies[T]{job: j, hosts: plan.InOrder(plan.Grid{P: j.Size(), Q: 1, C: 1}).Order,
		b: make([]gemm.Matrix[T], len(panels))}
	if err := x.share(rows, panels); err != nil {
		return nil, err
	}
	var err error
	if x.heads, err = j.seats.Heads(x.hosts); err != nil {
		return nil, err
	}
	if x.window == nil {
		for i, s := range panels {
			x.b[i] = memory.Matrix[T](rows, s.Len())
		}
		return x, nil
	}
	// Each rank of a host has room for some of the panels.
	arenas := make([]memory.Arena[T], j.host.Size())
	for i, s := range panels {
		owner := i % len(arenas)
		arenas[owner].Base = x.window.At(owner)
		x.b[i] = arenas[owner].Matrix(rows, s.Len())
	}
	return x, nil
}

// share takes the memory that the ranks of a host share, if several hosts have several ranks.
func (x *copies[T]) share(rows int, panels []plan.Span) error {
	hosts := x.job.hosts
	if n := plan.Count(hosts); n == 1 || n == len(hosts) || rows == 0 || len(panels) == 0 {
		return nil
	}
	each := (len(panels) + x.job.host.Size() - 1) / x.job.host.Size()
	bytes := memory.Bytes[T](each, each*rows*panels[0].Len())
	if cramped, err := x.job.cramped(bytes); cramped || err != nil {
		return err
	}
	var err error
	if x.window, err = x.job.shared(x.job.host, bytes); x.window != nil {
		x.hosts = hosts
	}
	return err
}

// begin begins to bring panel i of B, of rank 0, to all copies. The request is nil if there is nothing to wait for.
func (x *copies[T]) begin(i int, b gemm.Matrix[T]) (*comm.Request, error) {
	if x.heads == nil {
		word := gemm.NewMatrix[T](1, 1)
		r, err := comm.Irecv(x.job.host, word, 0, tagB)
		if err != nil {
			return nil, err
		}
		return r.Then(x.window.Sync), nil
	}
	if x.job.Rank() == 0 {
		memory.Copy(x.b[i], b)
		if err := x.tell(); err != nil {
			return nil, err
		}
	}
	if x.heads.Size() == 1 {
		return nil, nil
	}
	r, err := comm.Ibcast(x.heads, x.b[i], 0)
	if err != nil || x.job.Rank() == 0 {
		return r, err
	}
	return r.Then(x.tell), nil
}

// tell tells the other ranks of this host that a panel is there.
func (x *copies[T]) tell() error {
	if x.window == nil {
		return nil
	}
	if err := x.window.Sync(); err != nil {
		return err
	}
	for r := 1; r < x.job.host.Size(); r++ {
		q, err := comm.Isend(x.job.host, gemm.NewMatrix[T](1, 1), r, tagB)
		if err != nil {
			return err
		}
		x.told = append(x.told, q)
	}
	return nil
}

// end waits until all have been told.
func (x *copies[T]) end() error {
	told := x.told
	x.told = nil
	return waitAll(told)
}

// close frees the memory. All ranks call it.
func (x *copies[T]) close() error {
	if x == nil || x.window == nil {
		return nil
	}
	return x.window.Free()
}
