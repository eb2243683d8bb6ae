package mpi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dustin/go-humanize"

	"gemm"
	"gemm/internal/cpu"
	"gemm/mpi/comm"
)

// Job is this process as one of the ranks that were started together.
type Job struct {
	world  *comm.Comm  // of the operands; what it moves is counted
	quiet  *comm.Comm  // of everything else
	peers  []greeting  // by rank
	mask   []int       // processors that this process was started on
	share  []int       // those of them that are this rank's own; nil: they cannot be told apart
	pinned []int       // where it runs now; nil: on all of the mask
	runs   map[int]run // by the number that rank 0 gave them
	last   int         // number given
	watch  watch
	broken error // why the ranks are out of step; nil while they are not

	leading gemm.Exclusive // while rank 0 leads the others through something

	seats  *comm.Seats
	board  *notes             // of the ranks of this host
	alone  bool               // there is no board
	denied string             // why ranks have no window to read each other's memory; empty: none was denied
	left   int                // bytes of runs that were closed since the last collection of garbage
	pings  map[int][]float64  // samples of PingPong, by bytes
	rates  map[string]float64 // of local variants, as rate has them

	// shm returns the bytes that are left in /dev/shm, where Open MPI makes a file of the memory
	// that the ranks of a host share; 0: not known.
	shm func() int64
}

// run is a staged product of any element type.
type run interface {
	multiply(ctx context.Context) (report, []report, error)
	collect() error
	close() error
}

// greeting is what a rank tells of itself when the job begins.
type greeting struct {
	Arguments []string `json:"arguments"`
	Revision  string   `json:"revision"`
	Mask      string   `json:"mask"` // of instruction sets, as GEMM_CPU has it
	Host      string   `json:"host"`
	CPUs      []int    `json:"cpus"`
}

// Launched returns the number of ranks that this process was started among, as its
// environment has it. ok is false where nobody started it as a rank.
func Launched() (ranks int, ok bool) {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} {
		if size, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return size, true
		}
	}
	if _, there := os.LookupEnv("PMIX_RANK"); there {
		size, err := strconv.Atoi(os.Getenv("SLURM_NTASKS"))
		return cmp.Or(size, 1), err == nil
	}
	return 1, false
}

var (
	theJob  *Job
	started sync.Mutex
)

// Start begins MPI, once a process, and returns when all ranks have. The error, on every
// rank, is gemm.ErrUnavailable in a build without MPI, or says which rank was given other
// arguments or is another program. From then on one thread at a time may call MPI.
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
	quiet, err := world.Quiet()
	if err != nil {
		return nil, err
	}
	j := &Job{world: world, quiet: quiet, mask: cpu.Places(), runs: map[int]run{}, pings: map[int][]float64{},
		rates: map[string]float64{},
		seats: comm.NewSeats(world), shm: func() int64 { return cpu.Free("/dev/shm") }, watch: watch{grace: exitGrace}}
	if err := j.greet(arguments); err != nil {
		return nil, err
	}
	j.share = share(j.peers, j.Rank(), j.mask)
	theJob = j
	return j, nil
}

// running returns the job; a process that nobody started as a rank begins one of its own.
func running() (*Job, error) { return Start(nil) }

// Rank returns the rank of this process.
func (j *Job) Rank() int { return j.world.Rank() }

// Size returns the number of ranks.
func (j *Job) Size() int { return j.world.Size() }

// greet has every rank know what the others are, and be one of them.
func (j *Job) greet(arguments []string) error {
	host, _ := os.Hostname()
	own, err := json.Marshal(greeting{arguments, revision(), os.Getenv("GEMM_CPU"), host, j.mask})
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

// alike returns an error that names the first rank that differs from rank 0 in what all
// must have in common.
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

// revision identifies this program.
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

// share returns the processors of the mask that are the rank's own: an equal part of them,
// in the order of neighbours, where several ranks of its host have this mask, all of them
// where no other has. It is nil where ranks have to take turns: where there are too few, or
// another rank has some of them in a mask that differs.
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

// threads returns the number of threads of resolved parameters: 0 asks for the rank's
// share of the processors that it was started on, with others or alone.
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

// bind has this process run on its own share of the processors, or where it was started.
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

// apart returns two of this rank's own processors, as far apart as it has them, so that they
// are threads of one core only where it has no other; nil where there are no two, or
// affinity leaves it to the system.
func (j *Job) apart(affinity string) []int {
	if affinity != closeBy || len(j.share) < 2 {
		return nil
	}
	return []int{j.share[0], j.share[len(j.share)/2]}
}

// refusal is an error on which all ranks agree: they stay in step.
type refusal struct {
	text   string
	reason error // gemm.ErrUnavailable where a rank lacks something; may be nil
}

func (r refusal) Error() string { return r.text }

func (r refusal) Unwrap() error { return r.reason }

func ignoreRefusal(err error) error {
	if errors.As(err, &refusal{}) {
		return nil
	}
	return err
}

// agree returns nil where no rank has an error, and otherwise a refusal on all ranks; on
// rank 0 it has the texts.
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

// Version returns the name and version of the MPI library, empty in a build without.
func Version() string { return comm.Version() }

// Built reports whether this build has MPI.
const Built = comm.Built

// Placement returns a line for each rank: where it runs.
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

// sharing is what a host's window takes besides what is asked for, a rank.
const sharing = 1 << 16

// cramped reports whether the ranks of some host cannot share so many bytes of each of
// them. All ranks call it, before any asks MPI: too little memory it tells one rank of a
// host alone, and the others wait.
func (j *Job) cramped(bytes int) (bool, error) {
	need, err := j.quiet.Max(float64(bytes))
	if err != nil {
		return false, err
	}
	local := 0
	for _, g := range j.peers {
		if g.Host == j.peers[j.Rank()].Host {
			local++
		}
	}
	lacking := 0.0
	if room := j.shm(); room > 0 && (need+sharing)*float64(local) > float64(room) {
		lacking = 1
	}
	lacking, err = j.quiet.Max(lacking)
	return lacking > 0, err
}

// errCramped says what to do where the ranks cannot share so many bytes.
func (j *Job) errCramped(bytes int) error {
	return fmt.Errorf("ranks have to share %s each, and /dev/shm has %s left: make it larger (docker run --shm-size), or use a smaller size",
		humanize.IBytes(uint64(bytes)), humanize.IBytes(uint64(j.shm())))
}
