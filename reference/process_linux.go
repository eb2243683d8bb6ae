package reference

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the sources of the programs
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"gemm"
	"gemm/internal/child"
	"gemm/internal/trust"
)

// peerSource is the program that holds a library in a process of its own; its head has
// the requests that it understands.
//
//go:embed peer/main.c
var peerSource []byte

// peerProgram is compiled from peerSource.
var peerProgram = cProgram{name: "peer", source: peerSource, compilers: []string{"cc", "gcc", "clang"},
	flags: []string{"-ldl"}}

// program returns the file of the compiled peerProgram.
var program = sync.OnceValues(peerProgram.file)

// cProgram is a small program in C that is compiled if it is needed.
type cProgram struct {
	name      string
	source    []byte
	compilers []string // names, in the order in which they are tried
	flags     []string // besides -O2
}

// compileTime is how long a compiler may take.
const compileTime = time.Minute

// file returns the compiled program. It is compiled once and kept in the user's cache
// folder, by what it was compiled from.
func (c cProgram) file() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w", err)
	}
	return c.compile(filepath.Join(cache, "gemm"))
}

// compile returns the compiled program in the folder, and compiles it unless it is
// there. The error is a trust.ErrUntrusted if another user can have written the program.
func (c cProgram) compile(folder string) (string, error) {
	sum := sha256.Sum256(fmt.Append(c.source, runtime.GOARCH, c.flags))
	file := filepath.Join(folder, fmt.Sprintf("%s-%x", c.name, sum[:8]))
	if err := trust.File(file); !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	var compiler string
	for _, name := range c.compilers {
		if path, err := exec.LookPath(name); err == nil {
			compiler = path
			break
		}
	}
	if compiler == "" {
		return "", fmt.Errorf("no C compiler: install %s", strings.Join(c.compilers, " or "))
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if err := trust.Folder(folder); err != nil {
		return "", err
	}
	// Compile in a folder next to the program, to be renamed: several processes may compile at once.
	scratch, err := os.MkdirTemp(folder, "compile-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	text, made := filepath.Join(scratch, "main.c"), filepath.Join(scratch, c.name)
	if err := os.WriteFile(text, c.source, 0o600); err != nil {
		return "", err
	}
	arguments := append([]string{"-O2", "-o", made, text}, c.flags...)
	var said bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), compileTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, compiler, arguments...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := child.Run(cmd, time.Second); err != nil {
		first, _, _ := strings.Cut(said.String(), "\n")
		return "", fmt.Errorf("%s: %w: %s", compiler, err, first)
	}
	// The umask may let the group write, and then the program is not trusted again.
	if err := os.Chmod(made, 0o700); err != nil {
		return "", err
	}
	return file, os.Rename(made, file)
}

// process is a process that holds a library. A signal stops it except while it answers a request,
// so its threads do nothing while others are measured. It serves one request at a time.
type process struct {
	cmd    *exec.Cmd
	in     *bufio.Writer
	out    *bufio.Reader
	stderr lastLine
	ended  chan struct{} // closed when it has
	status error         // of its end; known once ended is closed
	again  bool          // it replaces one that its library ended
}

// newProcess starts the program; again says that it replaces a process that its
// library ended.
func newProcess(program string, again bool) (*process, error) {
	return start(exec.Command(program), again)
}

// start starts the command, a program that answers requests.
func start(cmd *exec.Cmd, again bool) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{}), again: again}
	p.cmd.Stderr = &p.stderr
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
	// It learns nothing of the end of this process while it is stopped.
	ended, err := child.Start(p.cmd, syscall.SIGKILL)
	if err != nil {
		return nil, err
	}
	go func() {
		p.status = <-ended
		close(p.ended)
	}()
	p.signal(syscall.SIGSTOP)
	return p, nil
}

// signal sends a signal; a process that has ended gets none.
func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// dead reports whether the process has ended.
func (p *process) dead() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// kill ends the process and waits until it has.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// ask sends a request with what follows its line, and returns the answer and reads
// what follows that. send and receive may be nil. A process whose answer does not
// come, or that is cancelled meanwhile, has ended when ask returns.
func (p *process) ask(ctx context.Context, request string, send func(io.Writer) error,
	receive func(io.Reader) error) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if strings.Contains(request, "\n") {
		return "", fmt.Errorf("%q has several lines", request)
	}
	defer context.AfterFunc(ctx, func() { p.signal(syscall.SIGKILL) })()
	p.signal(syscall.SIGCONT)
	defer p.signal(syscall.SIGSTOP)
	answer, err := p.exchange(request, send, receive)
	if err == nil {
		said, text, _ := strings.Cut(answer, " ")
		if said != "ok" {
			return "", errors.New(text)
		}
		return text, nil
	}
	p.kill()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	reason := "it closed its output"
	if p.status != nil {
		reason = p.status.Error()
	}
	if said := p.stderr.String(); said != "" {
		reason += ": " + said
	}
	return "", fmt.Errorf("the process of the library ended: %s", reason)
}

func (p *process) exchange(request string, send func(io.Writer) error, receive func(io.Reader) error) (string, error) {
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

// simple asks for what no context ends.
func (p *process) simple(words ...string) (string, error) {
	return p.ask(context.Background(), strings.Join(words, " "), nil, nil)
}

func (p *process) setenv(name, value string) error {
	_, err := p.simple("setenv", name, value)
	return err
}

func (p *process) open(name string) error {
	_, err := p.simple("open", name)
	return err
}

func (p *process) openGlobal(name string) error {
	_, err := p.simple("global", name)
	return err
}

func (p *process) unload() error {
	_, err := p.simple("close")
	return err
}

func (p *process) find(symbol string) (uintptr, error) {
	text, err := p.simple("find", symbol)
	if err != nil {
		return 0, p.stranger(err)
	}
	address, err := strconv.ParseUint(text, 10, 64)
	return uintptr(address), err
}

func (p *process) integer(symbol string, argument ...int) (int, error) {
	text, err := p.simple(words("integer", symbol, argument)...)
	if err != nil {
		return 0, p.stranger(err)
	}
	return strconv.Atoi(text)
}

func (p *process) text(symbol string, argument ...int) (string, error) {
	text, err := p.simple(words("text", symbol, argument)...)
	return text, p.stranger(err)
}

func (p *process) buffer(symbol string) (string, error) {
	text, err := p.simple("buffer", symbol)
	return text, p.stranger(err)
}

func (p *process) first(uintptr) error {
	x := gemm.NewMatrix[float64](1, 1)
	if err := stage(context.Background(), p, x, x, x); err != nil {
		return err
	}
	if _, err := p.simple("run 1"); err != nil {
		return err
	}
	_, err := p.simple("drop")
	return err
}

func (p *process) expendable() bool { return !p.again }

func (p *process) maps() string { return fmt.Sprintf("/proc/%d/maps", p.cmd.Process.Pid) }

// stranger says of a symbol that is not there what it means.
func (p *process) stranger(err error) error {
	if err != nil && !p.dead() {
		return fmt.Errorf("%w: it is not the library meant", err)
	}
	return err
}

func words(request, symbol string, argument []int) []string {
	out := []string{request, symbol}
	for _, x := range argument {
		out = append(out, strconv.Itoa(x))
	}
	return out
}

// lastLine keeps the last line that is written to it.
type lastLine struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (l *lastLine) Write(data []byte) (int, error) {
	const most = 1 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, data...)
	if i := bytes.LastIndexByte(bytes.TrimRight(l.text, "\n"), '\n'); i >= 0 {
		l.text = l.text[i+1:]
	}
	if len(l.text) > most {
		l.text = l.text[len(l.text)-most:]
	}
	return len(data), nil
}

// String returns the line.
func (l *lastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.text))
}
