// Package launch starts ranks of a program by mpirun or mpiexec.hydra, whichever belongs to the program's MPI, and
// reports in one line what ended them. It watches the other hosts of a job, and lets ranks end it together. It needs no
// MPI of its own.
package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gemm/internal/cpu"
	"gemm/internal/ipc"
	"gemm/internal/output"
)

// Resources are the processors and the user of a host, on which the arguments of a launcher depend.
type Resources struct {
	Cores, Processors int // that this process may use; a core has one processor or more
	Root              bool
}

// Detect describes this process.
func Detect() Resources {
	p := Resources{Root: os.Geteuid() == 0}
	allowed := map[int]bool{}
	for _, id := range cpu.Places() {
		allowed[id] = true
	}
	cores := map[[2]int]bool{}
	for _, c := range cpu.Processors() {
		if allowed[c.ID] {
			cores[[2]int{c.Package, c.Core}] = true
			p.Processors++
		}
	}
	if p.Cores = len(cores); p.Cores == 0 { // they are not known
		p.Processors = cpu.Host().Cores
		p.Cores = p.Processors
	}
	return p
}

// segments are the settings of Open MPI for the folders of memory that ranks share.
var segments = []string{"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory",
	"OMPI_MCA_osc_sm_backing_directory", "OMPI_MCA_osc_rdma_backing_directory"}

// sharedFolder is where Open MPI puts shared memory by itself.
const sharedFolder = "/dev/shm"

// scratch makes folders of this job's own for the files of mpirun and the memory that ranks share, so that the files of
// a killed job can be found. It returns the environment of l. Existing settings are kept. MPICH has no such files, and
// would give the names of the folders to hosts that do not have them.
func (l Launcher) scratch() (environment []string, remove func(), err error) {
	if l.Family == MPICH {
		return os.Environ(), func() {}, nil
	}
	session, err := output.NewScratch("ranks")
	if err != nil {
		return nil, nil, err
	}
	environment = append(os.Environ(), "TMPDIR="+session.Path)
	shared, err := output.NewScratchIn(sharedFolder, "ranks")
	if err != nil { // a system without that folder
		return environment, session.Remove, nil
	}
	for _, name := range segments {
		if _, ok := os.LookupEnv(name); !ok {
			environment = append(environment, name+"="+shared.Path)
		}
	}
	return environment, func() {
		session.Remove()
		shared.Remove()
	}, nil
}

// CreateSharedFolder creates the folder for the memory that ranks share, which may not exist on hosts other than
// mpirun's. A rank calls CreateSharedFolder before it begins MPI, and remove at its end.
func CreateSharedFolder() (remove func()) {
	folder := os.Getenv(segments[0])
	if !strings.HasPrefix(filepath.Base(folder), "gemm-ranks-") || os.Mkdir(folder, 0o700) != nil {
		return func() {}
	}
	return func() { _ = os.Remove(folder) } // unless another rank still has memory there
}

// How long mpirun has to end its ranks, and then its output to end.
const (
	termTime  = 5 * time.Second
	drainTime = 2 * time.Second
)

// jobVariable has a value of its own in the processes of each job.
const jobVariable = "GEMM_JOB"

// Run runs l with the arguments until it ends. The error is one line that reports what happened to the ranks. If the
// context ends, l is terminated by a signal, and is killed if it does not end; then the error is the context's. When
// Run returns, no process of the job is left on this host. Neither l nor a rank that called ipc.DieWithParent outlives
// this process. What ranks write to standard output is lost. The files and the shared memory that they leave are
// removed.
func (l Launcher) Run(ctx context.Context, arguments ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	environment, remove, err := l.scratch()
	if err != nil {
		return err
	}
	defer remove()
	mark := fmt.Sprintf("%s=%d-%d", jobVariable, os.Getpid(), time.Now().UnixNano())
	var said ipc.Tail
	cmd := exec.Command(l.Path, arguments...)
	cmd.Env = append(environment, mark)
	cmd.Stderr, cmd.WaitDelay = &said, drainTime
	if l.Family == MPICH {
		cmd.Stdout = &said // mpiexec.hydra writes there how a rank ended
	}
	ended, err := ipc.Start(cmd, syscall.SIGTERM)
	if err != nil {
		return fmt.Errorf("%s cannot be started: %w", l.Path, err)
	}
	defer killJob(mark)
	select {
	case err = <-ended:
	case <-ctx.Done():
		signal(cmd, syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(termTime):
			signal(cmd, syscall.SIGKILL)
			<-ended
		}
		return ctx.Err()
	}
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return reason(ipc.NewExitError(filepath.Base(l.Path), cmd.ProcessState, &said), &said)
}
