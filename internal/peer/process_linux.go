package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gemm/internal/ipc"
)

// Process is a process that answers requests. A signal stops it except while it answers one, so its
// threads do nothing while others are measured. It serves one request at a time.
type Process struct {
	cmd    *exec.Cmd
	pid    int // of the process that does the work; it is not cmd if that only supervises
	in     ipc.Writer
	out    *ipc.Reader
	stderr ipc.Tail
	ended  chan struct{} // closed when it has
	limit  time.Duration // processor time of a call; 0: none
}

// Program returns the file of the compiled Holder, compiled at the first use.
var Program = sync.OnceValues(Holder.File)

// start is Start for a program that gets another signal when this process has ended.
func start(cmd *exec.Cmd, last syscall.Signal) (*Process, error) {
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = time.Second // what the process has started may hold its standard error
	in, err := p.cmd.StdinPipe()
	out, wrong := p.cmd.StdoutPipe()
	if err := cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	p.in, p.out = ipc.NewWriter(in), ipc.NewReader(out)
	ended, err := ipc.Start(p.cmd, last)
	if err != nil {
		return nil, err
	}
	p.pid = cmd.Process.Pid
	go func() {
		<-ended
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has started and left behind
		close(p.ended)
	}()
	return p, nil // it does nothing before the first request, so nothing has to stop it
}

// signal sends a signal to the process and to what it has started.
func (p *Process) signal(s syscall.Signal) {
	if !p.Ended() { // another process may have the number now
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// wakeEvery is the time after which a process that runs is woken again.
const wakeEvery = time.Second

// wake continues the process, and again from time to time until stop is called: a process that is
// being created can miss the signal. Where python3 is a script, it creates some. It calls look each time.
func (p *Process) wake(look func()) (stop func()) {
	p.signal(syscall.SIGCONT)
	again, done, ended := time.NewTicker(wakeEvery), make(chan struct{}), sync.WaitGroup{}
	ended.Go(func() {
		for {
			select {
			case <-again.C:
				p.signal(syscall.SIGCONT)
				look()
			case <-done:
				return
			}
		}
	})
	return func() {
		again.Stop()
		close(done)
		ended.Wait() // a signal that came later would have the process run while others are measured
	}
}

func (p *Process) clocks() clocks {
	at, cpu := time.Since(epoch), unix.Timespec{}
	const ofProcess = 2 // CPUCLOCK_SCHED, see clock_getcpuclockid
	if unix.ClockGettime(int32(^p.pid<<3|ofProcess), &cpu) != nil {
		return clocks{wall: at}
	}
	return clocks{at, time.Duration(cpu.Nano())}
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Kill ends the process and waits until it has.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// exchange sends a request and the bytes of sent behind it, and returns the answer, whose bytes fill received. It also
// returns the time from the request to the answer. A process whose answer does not come, or whose context ends
// meanwhile, has ended when exchange returns; then the error is the context's, or a ipc.ExitError. The limit of the
// processor time is for this number of calls, and for one to warm up. The process cannot raise it.
func (p *Process) exchange(ctx context.Context, request string, sent, received [][]byte, calls int) (string, clocks,
	error) {
	if err := ctx.Err(); err != nil {
		return "", clocks{}, err
	}
	defer context.AfterFunc(ctx, func() { p.signal(syscall.SIGKILL) })()
	defer p.signal(syscall.SIGSTOP)
	word, text, _ := strings.Cut(request, " ")
	begin, most, late := p.clocks(), p.limit*time.Duration(calls+1), atomic.Bool{}
	defer p.wake(func() {
		if most > 0 && p.clocks().cpu-begin.cpu > most {
			late.Store(true)
			p.signal(syscall.SIGKILL)
		}
	})()
	err := p.in.Send(word, text, sent...)
	var answer ipc.Frame
	var wrong ipc.FormatError
	switch {
	case errors.As(err, &wrong):
		return "", clocks{}, err
	case err == nil:
		answer, err = p.out.Next()
	}
	now := p.clocks()
	at := clocks{now.wall - begin.wall, now.cpu - begin.cpu}
	switch {
	case err == nil && answer.Word == "error" && answer.Text != "":
		return "", at, errors.New(answer.Text)
	case err == nil && answer.Word == "ok":
		if err = p.fill(received, answer); err == nil {
			return answer.Text, at, nil
		}
	case err == nil:
		err = ipc.FormatError{Line: answer.Word + " " + answer.Text}
	}
	p.Kill()
	if errors.As(err, &wrong) {
		return "", at, fmt.Errorf("its process answers %s, which is no answer", ipc.Quote(wrong.Line))
	}
	if ctx.Err() != nil {
		return "", at, ctx.Err()
	}
	if late.Load() {
		return "", at, errors.New(Late)
	}
	return "", at, ipc.NewExitError("its process", p.cmd.ProcessState, &p.stderr)
}

// fill reads the bytes of an answer.
func (p *Process) fill(received [][]byte, answer ipc.Frame) error {
	total := int64(0)
	for _, x := range received {
		total += int64(len(x))
	}
	if answer.Length != total {
		return ipc.FormatError{Line: fmt.Sprintf("%s %d %s", answer.Word, answer.Length, answer.Text)}
	}
	for _, x := range received {
		if _, err := io.ReadFull(p.out, x); err != nil {
			return err
		}
	}
	return nil
}
