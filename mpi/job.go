package mpi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"gemm"
	"gemm/cuda/remote"
	"gemm/internal/cpu"
	"gemm/mpi/comm"
	"gemm/mpi/launch"
	"gemm/mpi/plan"
)

// Job is this process as one rank of an MPI job. Rank 0 leads: its methods broadcast commands, which the other ranks
// execute:
//
//	rank 0    Start ─ handshake ─ broadcast "stage" ─ broadcast "multiply" … Close
//	rank 1    Start ─ handshake ─ Serve: execute, execute, …             until "quit"
//	rank 2    Start ─ handshake ─ Serve: execute, execute, …             until "quit"
//
// All ranks must make the same MPI calls in the same order. If a rank cannot, it refuses (see agree), and all skip the
// same calls. A rank that fails otherwise leaves the ranks out of step; then the processes have to end.
type Job struct {
	world   *comm.Comm  // carries operands and results; its bytes are counted
	control *comm.Comm  // carries everything else
	peers   []identity  // by rank
	mask    []int       // processors that this process was started with
	share   []int       // processors of the mask for this rank only; nil: they cannot be divided
	pinned  []int       // processors that it is pinned to now; nil: all of the mask
	runs    map[int]run // staged products, by number
	last    int         // the last number that rank 0 gave a run
	watch   watch
	others  *launch.Hosts // the other hosts that this rank watches; nil: none
	broken  error         // why the ranks are out of step; nil: they are in step

	rendezvous *launch.Rendezvous // before MPI_Finalize; nil: there is none

	leading gemm.Exclusive // held while rank 0 leads an operation of several commands

	splits      *comm.Splits
	host        *comm.Comm         // the ranks that share memory with this one; its messages are not counted
	hosts       []int              // by rank, as plan.Hosts numbers them; package comm counts by them too
	slotsOfHost *slots             // of the ranks of this host
	noSlots     bool               // there can be none
	denied      string             // why MPI denied the window for one-sided reads; empty: it did not
	left        int                // bytes of runs closed since the last garbage collection
	pings       map[ping][]float64 // samples of PingPong
	rates       map[string]float64 // rates of local variants, see rate
	gpu         *remote.Rank       // of this rank; nil: none has been needed

	// shm returns the free bytes of /dev/shm, or 0 if they are not known. Open MPI has the memory
	// that the ranks of a host share in a file there.
	shm func() int64

	now func() float64 // the clock of this process, in seconds
}

// run is a staged product of one element type.
type run interface {
	multiply(ctx context.Context) (report, []report, error)
	collect() error
	close() error
}

// identity is what each rank sends to the others about itself when the job begins.
type identity struct {
	Arguments []string `json:"arguments"`
	Revision  string   `json:"revision"`
	Mask      string   `json:"mask"` // GEMM_CPU, the mask of instruction sets
	Host      string   `json:"host"`
	CPUs      []int    `json:"cpus"`
	Clock     string   `json:"clock"`     // ranks with the same name read the same clock
	Addresses []string `json:"addresses"` // of the host

	Endpoint *launch.Endpoint `json:"endpoint,omitempty"` // of rank 0, if there is a rendezvous
}

// launched returns the number of ranks that were started with this process, according to the environment.
func launched() int {
	origin, _ := launch.Started(os.LookupEnv)
	return max(1, origin.Ranks)
}

var (
	theJob  *Job
	started sync.Mutex
)

// Start initializes MPI, once per process, and returns when all ranks have done so. The error is gemm.ErrUnavailable in
// a build without MPI. On every rank it is an error if a rank has other arguments or is another program; the error
// names that rank. It is a launch.Alone if the library of this program does not understand what has started the ranks.
// After Start, one thread at a time may call MPI.
func Start(arguments []string) (*Job, error) {
	started.Lock()
	defer started.Unlock()
	if theJob != nil {
		return theJob, nil
	}
	world, err := comm.Start()
	if err != nil {
		return nil, err
	}
	if origin, ok := launch.Started(os.LookupEnv); ok {
		if err := origin.Check(world.Size(), comm.Version()); err != nil {
			return nil, err
		}
	}
	control, err := world.Uncounted()
	if err != nil {
		return nil, err
	}
	j := &Job{world: world, control: control, mask: cpu.Places(), runs: map[int]run{}, pings: map[ping][]float64{},
		rates:  map[string]float64{},
		splits: comm.NewSplits(world), shm: func() int64 { return cpu.Free("/dev/shm") }, watch: watch{grace: exitGrace},
		now: comm.Now, hosts: world.Hosts()}
	if j.host, err = control.Split(j.hosts[j.Rank()], j.Rank()); err != nil {
		return nil, err
	}
	if err := j.handshake(arguments); err != nil {
		return nil, err
	}
	j.share = share(j.peers, j.Rank(), j.mask)
	j.others = launch.Watch(watched(j.peers, j.Rank()))
	if err := j.connect(); err != nil {
		return nil, err
	}
	theJob = j
	return j, nil
}

// Rank returns the rank of this process.
func (j *Job) Rank() int { return j.world.Rank() }

// Size returns the number of ranks.
func (j *Job) Size() int { return j.world.Size() }

// Local returns the number of ranks on the host of this one.
func (j *Job) Local() int { return j.host.Size() }

// handshake exchanges identities between all ranks, and checks that they agree.
func (j *Job) handshake(arguments []string) error {
	host, _ := os.Hostname()
	var err error
	j.peers, err = shareJSON(j, identity{arguments, revision(), os.Getenv("GEMM_CPU"), host, j.mask, comm.ClockName(),
		launch.Addresses(), j.listen()})
	if err != nil {
		return err
	}
	return checkIdentities(j.peers)
}

// shareJSON returns the values of all ranks. All ranks call it.
func shareJSON[V any](j *Job, own V) ([]V, error) {
	all, err := gatherJSON(j, own)
	if err != nil {
		return nil, err
	}
	var data []byte
	if j.Rank() == 0 {
		if data, err = json.Marshal(all); err == nil {
			err = j.control.SendAll(data)
		}
	} else if data, err = j.control.Poll(); err == nil {
		err = json.Unmarshal(data, &all)
	}
	return all, err
}

// gatherJSON returns on rank 0 the values of all ranks, and nil on the others. All ranks call it.
func gatherJSON[V any](j *Job, own V) ([]V, error) {
	data, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	gathered, err := j.control.GatherBytes(data)
	if err != nil || gathered == nil {
		return nil, err
	}
	all := make([]V, len(gathered))
	for r, data := range gathered {
		if err := json.Unmarshal(data, &all[r]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// any reports whether the condition holds on any rank. All ranks call it.
func (j *Job) any(condition bool) (bool, error) {
	x := 0.0
	if condition {
		x = 1
	}
	x, err := j.control.Max(x)
	return x > 0, err
}

// listen opens the rendezvous on rank 0, and returns where; nil if the ranks need none.
func (j *Job) listen() *launch.Endpoint {
	if j.Rank() != 0 || launch.Of(comm.Version()).Family != launch.MPICH || plan.Count(j.hosts) < 2 {
		return nil
	}
	opened, at, err := launch.Listen(launch.Addresses())
	if err != nil {
		return nil
	}
	j.rendezvous = opened
	return &at
}

// connect connects all ranks to the rendezvous of rank 0. If one of them cannot, there is no rendezvous.
func (j *Job) connect() (err error) {
	at := j.peers[0].Endpoint
	switch {
	case at == nil:
		return nil
	case j.Rank() == 0:
		err = j.rendezvous.Accept(j.Size() - 1)
	default:
		j.rendezvous, err = launch.Dial(*at)
	}
	failed, err := j.any(err != nil)
	if err != nil || failed {
		j.rendezvous.Close()
		j.rendezvous = nil
	}
	return err
}

// watched returns the addresses of the hosts that the rank watches, by name. Rank 0 watches all others; the
// first rank of another host watches the host of rank 0.
func watched(peers []identity, rank int) map[string][]string {
	out := map[string][]string{}
	own := peers[rank].Host
	for r, g := range peers {
		switch {
		case r < rank && g.Host == own:
			return nil
		case g.Host != own && (rank == 0 || g.Host == peers[0].Host):
			out[g.Host] = g.Addresses
		}
	}
	return out
}

// Unreachable returns the names of the hosts that this rank watches and that do not answer any more. It takes some
// seconds if there are any, and may be called on any goroutine.
func (j *Job) Unreachable() []string { return j.others.Unreachable() }

// clockOffsets returns, on rank 0, how far the clock of each rank is ahead of its own, in seconds, and the limit
// of the error of one rank's times relative to another's. Each other clock is compared once, by messages
// with the first rank that reads it. All ranks call it.
func (j *Job) clockOffsets() (offsets []float64, within float64, err error) {
	offsets = make([]float64, j.Size())
	known := map[string]float64{j.peers[0].Clock: 0}
	worst := [2]float64{} // errors, the largest first
	for r, g := range j.peers {
		if _, ok := known[g.Clock]; !ok {
			seconds, limit := 0.0, 0.0
			if j.Rank() == 0 || j.Rank() == r {
				if seconds, limit, err = j.control.ClockOffset(r, j.now); err != nil {
					return nil, 0, err
				}
			}
			known[g.Clock] = seconds
			worst = [2]float64{max(worst[0], limit), max(min(worst[0], limit), worst[1])}
		}
		offsets[r] = known[g.Clock]
	}
	return offsets, worst[0] + worst[1], nil
}

// checkIdentities returns an error if a rank differs from rank 0 in its program, instruction sets or arguments.
// The error names the first such rank.
func checkIdentities(peers []identity) error {
	first := peers[0]
	for r, g := range peers {
		switch {
		case g.Revision != first.Revision:
			return fmt.Errorf("rank %d is another program than rank 0 (%s, %s): start the same on all", r, g.Revision,
				first.Revision)
		case g.Mask != first.Mask:
			return fmt.Errorf("rank %d has GEMM_CPU=%q, rank 0 has %q: set the same on all", r, g.Mask, first.Mask)
		case !slices.Equal(g.Arguments, first.Arguments):
			return fmt.Errorf("rank %d was given other arguments than rank 0 (%s; %s): give the same to all",
				r, strings.Join(g.Arguments, " "), strings.Join(first.Arguments, " "))
		}
	}
	return nil
}

// revision returns what identifies this program: version, revision and build tags.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	out := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" || s.Key == "-tags" {
			out += " " + s.Value
		}
	}
	return out
}

// refusal is an error that all ranks have received: they are still in step.
type refusal struct {
	text   string
	reason error // gemm.ErrUnavailable if something is missing on a rank; otherwise nil
}

func (r refusal) Error() string { return r.text }

func (r refusal) Unwrap() error { return r.reason }

func ignoreRefusal(err error) error {
	if errors.As(err, &refusal{}) {
		return nil
	}
	return err
}

// agree returns nil on all ranks if err is nil on all. Otherwise it returns a refusal on all ranks;
// on rank 0 it has the text of the first error. All ranks call it.
func (j *Job) agree(err error) error {
	const refuses, lacks = 1.0, 2.0
	bad := 0.0
	text := ""
	if err != nil {
		bad, text = refuses, err.Error()
	}
	if errors.Is(err, gemm.ErrUnavailable) {
		bad = lacks
	}
	worst, failed := j.control.Max(bad)
	if failed != nil || worst == 0 {
		return failed
	}
	var reason error
	if worst == lacks {
		reason = gemm.ErrUnavailable
	}
	all, failed := j.control.GatherBytes([]byte(text))
	if failed != nil {
		return failed
	}
	for r, data := range all {
		if len(data) > 0 {
			return refusal{fmt.Sprintf("rank %d: %s", r, data), reason}
		}
	}
	return refusal{"another rank refused", reason}
}

// Version returns the name and version of the MPI library. It is empty in a build without MPI.
func Version() string { return comm.Version() }

// Built reports whether this build has MPI.
const Built = comm.Built

// Hosts returns the number of hosts of the ranks if there are several, otherwise 0.
func (j *Job) Hosts() int {
	if n := plan.Count(j.hosts); n > 1 {
		return n
	}
	return 0
}

// Placement returns a line for each rank, with its host and processors.
func (j *Job) Placement() []string {
	var out []string
	for r, g := range j.peers {
		own := share(j.peers, r, g.CPUs)
		if own == nil {
			own = g.CPUs
		}
		out = append(out, fmt.Sprintf("rank %d: %s, processors %s", r, g.Host, cpu.List(slices.Sorted(slices.Values(own)))))
	}
	return out
}
