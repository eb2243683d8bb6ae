package peer

import (
	"context"
	_ "embed" // the source of the program
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// holder is the source of the program; its head has the requests that it understands. confiner is in front of it.
var (
	//go:embed library/main.c
	holder string
	//go:embed library/confine.c
	confiner string
)

// Holder is the program that holds a library.
var Holder = Source{Name: "peer", Text: []byte(confiner + holder), Compilers: []string{"cc", "gcc", "clang"},
	Flags: []string{"-ldl"}}

// Library is a process that holds a shared library. Errors of its methods are one line.
type Library struct{ *Process }

// NewLibrary starts the program, the file of Program, which holds no library yet.
func NewLibrary(program string) (*Library, error) { return NewConfined(program, nil) }

// NewConfined is NewLibrary within limits; nil: none.
func NewConfined(program string, limits *Limits) (*Library, error) {
	p, err := start(limits.confine(exec.Command(program)), syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	l := &Library{p}
	if limits != nil {
		p.limit = limits.Time
	}
	text, err := l.simple("pid")
	if err == nil {
		p.pid, err = strconv.Atoi(text)
	}
	if err != nil {
		p.Kill()
		return nil, err
	}
	return l, nil
}

// Start starts the command, a program that answers requests. It learns nothing of the end of this process while it is
// stopped, and is killed then. There are such processes on Linux only.
func Start(cmd *exec.Cmd) (*Process, error) { return start(cmd, syscall.SIGKILL) }

// PID returns the number by which the system knows the process.
func (p *Process) PID() int { return p.pid }

// Request sends a request without bytes, and returns the answer. A process whose answer does not come, or whose context
// ends meanwhile, has ended when Request returns; then the error is the context's, or an ipc.ExitError.
func (p *Process) Request(ctx context.Context, request string) (string, error) {
	text, _, err := p.exchange(ctx, request, nil, nil, 1)
	return text, err
}

// Time is Request for an answer in seconds.
func (p *Process) Time(ctx context.Context, request string) (time.Duration, error) {
	text, err := p.Request(ctx, request)
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("its process answers %q for a time: %w", text, err)
	}
	return duration(seconds), nil
}

// simple asks for what no context ends.
func (l *Library) simple(request string) (string, error) {
	return l.Request(context.Background(), request)
}

// of asks for a symbol of the library, by a request with its name and numbers.
func (l *Library) of(request, symbol string, numbers ...int) (string, error) {
	request += " " + symbol
	for _, x := range numbers {
		request += " " + strconv.Itoa(x)
	}
	text, err := l.simple(request)
	if err != nil && !l.Ended() {
		err = fmt.Errorf("%w: it is not the library meant", err)
	}
	return text, err
}

// do is Request for what has no answer but success.
func (l *Library) do(ctx context.Context, request string) error {
	_, err := l.Request(ctx, request)
	return err
}

// Setenv sets a variable in the environment that libraries of the process see.
func (l *Library) Setenv(name, value string) error {
	return l.do(context.Background(), "setenv "+name+" "+value)
}

// Open opens the library that the other methods mean from then on, by its path or by its name among the system's.
func (l *Library) Open(name string) error { return l.OpenContext(context.Background(), name) }

// OpenContext is Open for a library that may hang while it is opened.
func (l *Library) OpenContext(ctx context.Context, name string) error { return l.do(ctx, "open "+name) }

// OpenGlobal opens another library, whose symbols libraries are to find.
func (l *Library) OpenGlobal(name string) error { return l.do(context.Background(), "global "+name) }

// Unconfined returns words for what the limits of the process are not kept for, see library/confine.c.
func (l *Library) Unconfined() ([]string, error) {
	text, err := l.simple("unconfined")
	return strings.Fields(text), err
}

// Unload unloads the library.
func (l *Library) Unload() error { return l.do(context.Background(), "close") }

// Find returns the address of a symbol in the process, under any of the names that builds of
// OpenBLAS give it; the methods below find theirs so too.
func (l *Library) Find(symbol string) (uintptr, error) {
	text, err := l.of("find", symbol)
	if err != nil {
		return 0, err
	}
	address, err := strconv.ParseUint(text, 10, 64)
	return uintptr(address), err
}

// Integer calls a function with one integer argument or none and returns its int.
func (l *Library) Integer(symbol string, argument ...int) (int, error) {
	text, err := l.of("integer", symbol, argument...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// Text is Integer for a function that returns a string.
func (l *Library) Text(symbol string, argument ...int) (string, error) {
	return l.of("text", symbol, argument...)
}

// Buffer calls a function that writes a string, void f(char *, int).
func (l *Library) Buffer(symbol string) (string, error) { return l.of("buffer", symbol) }

// Maps returns the name of the file that says what the process has mapped.
func (l *Library) Maps() string { return fmt.Sprintf("/proc/%d/maps", l.PID()) }
