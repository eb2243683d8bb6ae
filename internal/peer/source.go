package peer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gemm/internal/ipc"
	"gemm/internal/output"
)

// Compiler is a compiler that is there.
type Compiler struct {
	Command []string // with its first options
	Version string   // the first line that it prints of itself
	Limits  *Limits  // nil: none
}

// ErrNoCompiler says that none of the compilers is there.
var ErrNoCompiler = errors.New("there is no compiler")

// versionTime is how long a compiler may take to say its version.
const versionTime = 20 * time.Second

// FindCompiler returns the compiler that the environment variable has, or the first of the names that is there.
func FindCompiler(ctx context.Context, variable string, names []string) (c Compiler, err error) {
	if c.Command = strings.Fields(os.Getenv(variable)); len(c.Command) == 0 {
		i := slices.IndexFunc(names, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
		if i < 0 {
			return c, ErrNoCompiler
		}
		c.Command = names[i : i+1]
	}
	said, err := c.Run(ctx, versionTime, "--version")
	if err != nil {
		return c, fmt.Errorf("the compiler %s: %w", strings.Join(c.Command, " "), err)
	}
	c.Version, _, _ = strings.Cut(strings.TrimSpace(said), "\n")
	return c, nil
}

// Run runs the compiler and returns what it prints.
func (c Compiler) Run(ctx context.Context, limit time.Duration, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var said ends
	cmd := exec.CommandContext(ctx, c.Command[0], slices.Concat(c.Command[1:], arguments)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	err := ipc.Run(c.Limits.Confine(cmd), time.Second)
	return said.String(), cmp.Or(ctx.Err(), err)
}

// ends is an io.Writer that keeps the first and the last mostEnd bytes. It is for a goroutine.
type ends struct {
	first, last []byte
	left        int // bytes that are not kept
}

const mostEnd = 32 << 10

// Write implements io.Writer.
func (e *ends) Write(data []byte) (int, error) {
	n := min(len(data), mostEnd-len(e.first))
	e.first, e.last = append(e.first, data[:n]...), append(e.last, data[n:]...)
	if more := len(e.last) - mostEnd; more > 0 {
		e.last, e.left = slices.Clone(e.last[more:]), e.left+more
	}
	return len(data), nil
}

// String returns what is kept.
func (e *ends) String() string {
	middle := ""
	if e.left > 0 {
		middle = fmt.Sprintf("\n[%d bytes are left out]\n", e.left)
	}
	return string(e.first) + middle + string(e.last)
}

// Source is a small program in C that is compiled if it is needed.
type Source struct {
	Name      string
	Text      []byte
	Compilers []string // names, in the order in which they are tried
	Flags     []string // besides -O2
}

// compileTime is how long a compiler may take.
const compileTime = time.Minute

// File returns the compiled program. It is compiled once and kept in the folder of output.CacheFolder, by
// what it was compiled from.
func (s Source) File() (string, error) {
	folder, err := output.CacheFolder()
	if err != nil {
		return "", err
	}
	return s.Compile(folder)
}

// Compile returns the compiled program in the folder, and compiles it unless it is there. The error
// is an output.ErrUntrusted if another user can have written the program.
func (s Source) Compile(folder string) (string, error) {
	sum := sha256.Sum256(fmt.Append(s.Text, runtime.GOARCH, s.Flags))
	file := filepath.Join(folder, fmt.Sprintf("%s-%x", s.Name, sum[:8]))
	if err := output.TrustFile(file); !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	compiler, err := FindCompiler(context.Background(), "", s.Compilers)
	if errors.Is(err, ErrNoCompiler) {
		return "", fmt.Errorf("no C compiler: install %s", strings.Join(s.Compilers, " or "))
	}
	if err != nil {
		return "", err
	}
	if err := output.MakeFolder(folder); err != nil {
		return "", err
	}
	// Compile in a folder next to the program, to be renamed: several processes may compile at once.
	scratch, err := os.MkdirTemp(folder, "compile-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	text, made := filepath.Join(scratch, "main.c"), filepath.Join(scratch, s.Name)
	if err := os.WriteFile(text, s.Text, 0o600); err != nil {
		return "", err
	}
	arguments := append([]string{"-O2", "-o", made, text}, s.Flags...)
	if said, err := compiler.Run(context.Background(), compileTime, arguments...); err != nil {
		first, _, _ := strings.Cut(said, "\n")
		return "", fmt.Errorf("%s: %w: %s", compiler.Command[0], err, first)
	}
	// The umask may let the group write, and then the program is not trusted again.
	if err := os.Chmod(made, 0o700); err != nil {
		return "", err
	}
	return file, os.Rename(made, file)
}
