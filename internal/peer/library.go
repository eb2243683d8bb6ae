package peer

import (
	"context"
	_ "embed" // the source of the program
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// holder is the source of the program; its head has the requests that it understands.
//
//go:embed library/main.c
var holder []byte

// Holder is the program that holds a library.
var Holder = Source{Name: "peer", Text: holder, Compilers: []string{"cc", "gcc", "clang"}, Flags: []string{"-ldl"}}

// Library is a process that holds a shared library. Errors of its methods are one line.
type Library struct{ *Process }

// NewLibrary starts the program, the file of Program, which holds no library yet.
func NewLibrary(program string) (*Library, error) {
	p, err := start(exec.Command(program), syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	l := &Library{p}
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

// simple asks for what no context ends.
func (l *Library) simple(words ...string) (string, error) {
	return l.Ask(context.Background(), strings.Join(words, " "), nil, nil)
}

// Setenv sets a variable in the environment that libraries of the process see.
func (l *Library) Setenv(name, value string) error {
	_, err := l.simple("setenv", name, value)
	return err
}

// Open opens the library that the other methods mean from then on, by its path or by its name among
// the system's.
func (l *Library) Open(name string) error { return l.OpenContext(context.Background(), name) }

// OpenContext is Open for a library that may hang while it is opened.
func (l *Library) OpenContext(ctx context.Context, name string) error {
	_, err := l.Ask(ctx, "open "+name, nil, nil)
	return err
}

// OpenGlobal opens another library, whose symbols libraries are to find.
func (l *Library) OpenGlobal(name string) error {
	_, err := l.simple("global", name)
	return err
}

// Unload unloads the library.
func (l *Library) Unload() error {
	_, err := l.simple("close")
	return err
}

// Find returns the address of a symbol in the process, under any of the names that builds of
// OpenBLAS give it; the methods below find theirs so too.
func (l *Library) Find(symbol string) (uintptr, error) {
	text, err := l.simple("find", symbol)
	if err != nil {
		return 0, l.stranger(err)
	}
	address, err := strconv.ParseUint(text, 10, 64)
	return uintptr(address), err
}

// Integer calls a function with one integer argument or none and returns its int.
func (l *Library) Integer(symbol string, argument ...int) (int, error) {
	text, err := l.simple(words("integer", symbol, argument)...)
	if err != nil {
		return 0, l.stranger(err)
	}
	return strconv.Atoi(text)
}

// Text is Integer for a function that returns a string.
func (l *Library) Text(symbol string, argument ...int) (string, error) {
	text, err := l.simple(words("text", symbol, argument)...)
	return text, l.stranger(err)
}

// Buffer calls a function that writes a string, void f(char *, int).
func (l *Library) Buffer(symbol string) (string, error) {
	text, err := l.simple("buffer", symbol)
	return text, l.stranger(err)
}

// Maps returns the name of the file that says what the process has mapped.
func (l *Library) Maps() string { return fmt.Sprintf("/proc/%d/maps", l.PID()) }

// stranger says of a symbol that is not there what it means.
func (l *Library) stranger(err error) error {
	if err != nil && !l.Ended() {
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
