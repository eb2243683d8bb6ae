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

	"github.com/dustin/go-humanize"

	"gemm"
	"gemm/internal/busy"
	"gemm/internal/cpu"
	"gemm/mpi/clocks"
	"gemm/mpi/comm"
	"gemm/mpi/launch"
	"gemm/mpi/meeting"
	"gemm/mpi/plan"
	"gemm/mpi/reach"
)

// Job is this process as one rank of an MPI job. Rank 0 leads: its methods tell the other ranks
// what to do, by commands. The others serve:
//
//	rank 0    Start ─ greet ─ tell "stage" ─ tell "multiply" … Close
//	rank 1    Start ─ greet ─ Serve: obey, obey, …           until "quit"
//	rank 2    Start ─ greet ─ Serve: obey, obey, …           until "quit"
//
// All ranks must make the same MPI calls in the same order. A rank that cannot, refuses (see agree), so that all skip
// the same calls. A rank that fails otherwise leaves the ranks out of step; then the processes have to end.
type Job struct {
	world  *comm.Comm  // carries operands and results; its bytes are counted
	quiet  *comm.Comm  // carries everything else
	peers  []greeting  // by rank
	mask   []int       // processors that this process was started with
	share  []int       // processors of the mask that belong to this rank alone; nil: they cannot be divided
	pinned []int       // processors that it is pinned to now; nil: all of the mask
	runs   map[int]run // staged products, by number
	last   int         // the last number that rank 0 gave a run
	watch  watch
	others *reach.Hosts // those of the other hosts that this rank watches; nil: none
	broken error        // why the ranks are out of step; nil: they are in step

	meeting *meeting.Meeting // before the end of MPI; nil: there is none

	leading busy.Flag // held while rank 0 leads an operation of several commands

	seats       *comm.Seats
	host        *comm.Comm         // the ranks that share memory with this one; its messages are not counted
	hosts       []int              // by rank, as plan.Hosts numbers them; package comm counts by them too
	slotsOfHost *slots             // of the ranks of this host
	noSlots     bool               // there can be none
	denied      string             // why MPI denied the window for one-sided reads; empty: it did not
	left        int                // bytes of runs closed since the last garbage collection
	pings       map[ping][]float64 // samples of PingPong
	rates       map[string]float64 // rates of local variants, see rate

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

// greeting is what each rank tells the others about itself when the job begins.
type greeting struct {
	Arguments []string `json:"arguments"`
	Revision  string   `json:"revision"`
	Mask      string   `json:"mask"` // GEMM_CPU, the mask of instruction sets
	Host      string   `json:"host"`
	CPUs      []int    `json:"cpus"`
	Clock     string   `json:"clock"`     // ranks with the same name read the same clock
	Addresses []string `json:"addresses"` // of the host

	Meeting *meeting.Place `json:"meeting,omitempty"` // of rank 0, if the ranks meet at the end
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
	quiet, err := world.Quiet()
	if err != nil {
		return nil, err
	}
	j := &Job{world: world, quiet: quiet, mask: cpu.Places(), runs: map[int]run{}, pings: map[ping][]float64{},
		rates: map[string]float64{},
		seats: comm.NewSeats(world), shm: func() int64 { return cpu.Free("/dev/shm") }, watch: watch{grace: exitGrace},
		now: clocks.Now, hosts: world.Hosts()}
	if j.host, err = quiet.Host(); err != nil {
		return nil, err
	}
	if err := j.greet(arguments); err != nil {
		return nil, err
	}
	j.share = share(j.peers, j.Rank(), j.mask)
	j.others = reach.Watch(watched(j.peers, j.Rank()))
	if err := j.meet(); err != nil {
		return nil, err
	}
	theJob = j
	return j, nil
}

// running returns the job. A process that was not started as a rank is a job of one rank.
func running() (*Job, error) { return Start(nil) }

// Rank returns the rank of this process.
func (j *Job) Rank() int { return j.world.Rank() }

// Size returns the number of ranks.
func (j *Job) Size() int { return j.world.Size() }

// Local returns the number of ranks on the host of this one.
func (j *Job) Local() int {
	n := 0
	for _, g := range j.peers {
		if g.Host == j.peers[j.Rank()].Host {
			n++
		}
	}
	return n
}

// greet exchanges greetings between all ranks, and checks that they agree.
func (j *Job) greet(arguments []string) error {
	host, _ := os.Hostname()
	own, err := json.Marshal(greeting{arguments, revision(), os.Getenv("GEMM_CPU"), host, j.mask, clocks.Name(),
		reach.Addresses(), j.invitation()})
	if err != nil {
		return err
	}
	all, err := j.quiet.Collect(own)
	if err != nil {
		return err
	}
	var told []byte
	if j.Rank() == 0 {
		for _, data := range all {
			var g greeting
			if err := json.Unmarshal(data, &g); err != nil {
				return err
			}
			j.peers = append(j.peers, g)
		}
		if told, err = json.Marshal(j.peers); err != nil {
			return err
		}
		if err := j.quiet.Tell(told); err != nil {
			return err
		}
	} else {
		if told, err = j.quiet.Hear(); err != nil {
			return err
		}
		if err := json.Unmarshal(told, &j.peers); err != nil {
			return err
		}
	}
	return alike(j.peers)
}

// invitation returns where the ranks meet, on rank 0, which calls the meeting; nil if they need none.
func (j *Job) invitation() *meeting.Place {
	if j.Rank() != 0 || launch.Of(comm.Version()).Family != launch.MPICH || plan.Count(j.hosts) < 2 {
		return nil
	}
	called, place, err := meeting.Call(reach.Addresses())
	if err != nil {
		return nil
	}
	j.meeting = called
	return &place
}

// meet has all ranks come to the meeting to which rank 0 has invited them. If one cannot, there is none.
func (j *Job) meet() (err error) {
	place := j.peers[0].Meeting
	switch {
	case place == nil:
		return nil
	case j.Rank() == 0:
		err = j.meeting.Await(j.Size() - 1)
	default:
		j.meeting, err = meeting.Join(*place)
	}
	absent := 0.0
	if err != nil {
		absent = 1
	}
	absent, err = j.quiet.Max(absent)
	if err != nil || absent > 0 {
		j.meeting.Close()
		j.meeting = nil
	}
	return err
}

// watched returns the addresses of the hosts that the rank watches, by name. Rank 0 watches all others; the
// first rank of another host watches the host of rank 0.
func watched(peers []greeting, rank int) map[string][]string {
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

// Silent returns the names of the hosts that this rank watches and that do not answer any more. It
// takes some seconds if there are any, and may be called on any goroutine.
func (j *Job) Silent() []string { return j.others.Silent() }

// ahead returns, on rank 0, how far the clock of each rank is ahead of its own, in seconds, and the limit
// of the error of one rank's times relative to another's. Each other clock is compared once, by messages
// with the first rank that reads it. All ranks call it.
func (j *Job) ahead() (ahead []float64, within float64, err error) {
	ahead = make([]float64, j.Size())
	known := map[string]float64{j.peers[0].Clock: 0}
	worst := [2]float64{} // errors, the largest first
	for r, g := range j.peers {
		if _, ok := known[g.Clock]; !ok {
			seconds, limit := 0.0, 0.0
			if j.Rank() == 0 || j.Rank() == r {
				if seconds, limit, err = j.quiet.Ahead(r, j.now); err != nil {
					return nil, 0, err
				}
			}
			known[g.Clock] = seconds
			worst = [2]float64{max(worst[0], limit), max(min(worst[0], limit), worst[1])}
		}
		ahead[r] = known[g.Clock]
	}
	return ahead, worst[0] + worst[1], nil
}

// alike returns an error if a rank differs from rank 0 in its program, instruction sets or arguments.
// The error names the first such rank.
func alike(peers []greeting) error {
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

// share returns the processors that belong to a rank alone. The ranks of a host that have the same mask divide it into
// equal parts, neighbouring processors together. share returns nil if processors cannot be divided: if there are fewer
// than ranks, or if another rank has an overlapping mask that is not the same.
func share(peers []greeting, rank int, mask []int) []int {
	local, n := 0, 0
	for r, g := range peers {
		switch {
		case g.Host != peers[rank].Host:
		case slices.Equal(g.CPUs, mask):
			if r == rank {
				local = n
			}
			n++
		case slices.ContainsFunc(g.CPUs, func(id int) bool { return slices.Contains(mask, id) }):
			return nil
		}
	}
	if n > len(mask) {
		return nil
	}
	each := len(mask) / n
	return mask[local*each : (local+1)*each]
}

// threads returns the number of threads of a rank. If 0 are requested, it is the rank's share of the
// processors in its mask.
func (j *Job) threads(asked int) int {
	if asked > 0 {
		return asked
	}
	sharing := 0
	for _, g := range j.peers {
		if g.Host == j.peers[j.Rank()].Host && slices.Equal(g.CPUs, j.mask) {
			sharing++
		}
	}
	return max(1, len(j.mask)/sharing)
}

// bind pins this process: to its own share of the processors, or to all of its mask.
func (j *Job) bind(affinity string) error {
	want := j.mask
	if affinity == closeBy && j.share != nil {
		want = j.share
	}
	if len(want) == 0 || slices.Equal(want, j.pinned) || j.pinned == nil && slices.Equal(want, j.mask) {
		return nil
	}
	j.pinned = want
	return cpu.Pin(want)
}

// apart returns two processors of this rank's share, as far apart as possible, so that they are not
// hardware threads of one core unless the rank has only one core. It returns nil if the rank has
// fewer than two, or if affinity leaves the choice to the system.
func (j *Job) apart(affinity string) []int {
	if affinity != closeBy || len(j.share) < 2 {
		return nil
	}
	return []int{j.share[0], j.share[len(j.share)/2]}
}

// refusal is an error that all ranks know. After it, they are still in step.
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
	worst, failed := j.quiet.Max(bad)
	if failed != nil || worst == 0 {
		return failed
	}
	var reason error
	if worst == lacks {
		reason = gemm.ErrUnavailable
	}
	all, failed := j.quiet.Collect([]byte(text))
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
	names := map[string]bool{}
	for _, g := range j.peers {
		names[g.Host] = true
	}
	if len(names) < 2 {
		return 0
	}
	return len(names)
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

// sharing is the memory per rank, in bytes, that a shared window takes beyond the request.
const sharing = 1 << 16

// cramped reports whether some host lacks the memory to share the given bytes per rank. All ranks
// call it before they request the memory from MPI. MPI would report the lack to one rank of a host
// only, and the others would wait for ever.
func (j *Job) cramped(bytes int) (bool, error) {
	need, err := j.quiet.Max(float64(bytes))
	if err != nil {
		return false, err
	}
	local := j.Local()
	lacking := 0.0
	if room := j.shm(); room > 0 && (need+sharing)*float64(local) > float64(room) {
		lacking = 1
	}
	lacking, err = j.quiet.Max(lacking)
	return lacking > 0, err
}

// errCramped returns the error, with its remedies, of a host that lacks the given bytes per rank.
func (j *Job) errCramped(bytes int) error {
	return fmt.Errorf("ranks have to share %s each, and /dev/shm has %s left: make it larger (docker run --shm-size), or use a smaller size",
		humanize.IBytes(uint64(bytes)), humanize.IBytes(uint64(j.shm())))
}
