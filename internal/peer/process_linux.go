package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gemm/internal/child"
)

// Process is a process that answers requests. A signal stops it except while it answers one, so its
// threads do nothing while others are measured. It serves one request at a time.
type Process struct {
	cmd    *exec.Cmd
	pid    int // of the process that does the work; it is not cmd if that only supervises
	in     *bufio.Writer
	out    *bufio.Reader
	stderr child.Tail
	ended  chan struct{} // closed when it has
	status error         // of its end; known once ended is closed
}

// Program returns the file of the compiled Holder, compiled at the first use.
var Program = sync.OnceValues(Holder.File)

// Start starts the command, a program that answers requests. It learns nothing of the end of this process while it is
// stopped, and is killed then.
func Start(cmd *exec.Cmd) (*Process, error) { return start(cmd, syscall.SIGKILL) }

// start is Start for a program that gets another signal then.
func start(cmd *exec.Cmd, last syscall.Signal) (*Process, error) {
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = time.Second // what the process has started may hold its standard error
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	const room = 1 << 20
	p.in, p.out = bufio.NewWriterSize(in, room), bufio.NewReaderSize(out, room)
	ended, err := child.Start(p.cmd, last)
	if err != nil {
		return nil, err
	}
	p.pid = cmd.Process.Pid
	go func() {
		p.status = <-ended
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has started and left behind
		close(p.ended)
	}()
	return p, nil // it does nothing before the first request, so nothing has to stop it
}

// signal sends a signal to the process and to what it has started.
func (p *Process) signal(s syscall.Signal) {
	if !p.Ended() { // the number may be that of another process now
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// wakeEvery is the time after which a process that runs is woken again.
const wakeEvery = time.Second

// wake continues the process, and again from time to time until stop is called: a process that is
// being created can miss the signal. Where python3 is a script, it creates some.
func (p *Process) wake() (stop func()) {
	p.signal(syscall.SIGCONT)
	again, done, ended := time.NewTicker(wakeEvery), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-again.C:
				p.signal(syscall.SIGCONT)
			case <-done:
				return
			}
		}
	}()
	return func() {
		again.Stop()
		close(done)
		<-ended // a signal that came later would have the process run while others are measured
	}
}

// PID returns the number by which the system knows the process.
func (p *Process) PID() int { return p.pid }

// clocks returns the time, and the processor time of the process.
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

// Ask sends a request with what follows its line, and returns the answer and reads what follows
// that. send and receive may be nil. A process whose answer does not come, or whose context ends
// meanwhile, has ended when Ask returns; then the error is that of the context, or an End.
func (p *Process) Ask(ctx context.Context, request string, send func(io.Writer) error,
	receive func(io.Reader) error) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if strings.Contains(request, "\n") {
		return "", fmt.Errorf("%q has several lines", request)
	}
	defer context.AfterFunc(ctx, func() { p.signal(syscall.SIGKILL) })()
	defer p.signal(syscall.SIGSTOP)
	defer p.wake()()
	answer, err := p.exchange(request, send, receive)
	if err == nil {
		switch said, text, _ := strings.Cut(answer, " "); {
		case said == "ok":
			return text, nil
		case said == "error" && text != "":
			return "", errors.New(text)
		}
		err = fmt.Errorf("its process answers %q, which is no answer", answer)
		p.Kill()
		return "", err
	}
	p.Kill()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return "", End{Status: p.status, Said: p.stderr.Reason()}
}

func (p *Process) exchange(request string, send func(io.Writer) error, receive func(io.Reader) error) (string, error) {
	if _, err := p.in.WriteString(request + "\n"); err != nil {
		return "", err
	}
	if send != nil {
		if err := send(p.in); err != nil {
			return "", err
		}
	}
	if err := p.in.Flush(); err != nil {
		return "", err
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		return "", err
	}
	answer = strings.TrimSuffix(answer, "\n")
	if receive != nil && strings.HasPrefix(answer, "ok") {
		err = receive(p.out)
	}
	return answer, err
}
