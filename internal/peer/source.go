package peer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"gemm/internal/child"
	"gemm/internal/trust"
)

// Source is a small program in C that is compiled if it is needed.
type Source struct {
	Name      string
	Text      []byte
	Compilers []string // names, in the order in which they are tried
	Flags     []string // besides -O2
}

// compileTime is how long a compiler may take.
const compileTime = time.Minute

// File returns the compiled program. It is compiled once and kept in the folder of trust.Cache, by
// what it was compiled from.
func (s Source) File() (string, error) {
	folder, err := trust.Cache()
	if err != nil {
		return "", err
	}
	return s.Compile(folder)
}

// Compile returns the compiled program in the folder, and compiles it unless it is there. The error
// is a trust.ErrUntrusted if another user can have written the program.
func (s Source) Compile(folder string) (string, error) {
	sum := sha256.Sum256(fmt.Append(s.Text, runtime.GOARCH, s.Flags))
	file := filepath.Join(folder, fmt.Sprintf("%s-%x", s.Name, sum[:8]))
	if err := trust.File(file); !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	var compiler string
	for _, name := range s.Compilers {
		if path, err := exec.LookPath(name); err == nil {
			compiler = path
			break
		}
	}
	if compiler == "" {
		return "", fmt.Errorf("no C compiler: install %s", strings.Join(s.Compilers, " or "))
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
	text, made := filepath.Join(scratch, "main.c"), filepath.Join(scratch, s.Name)
	if err := os.WriteFile(text, s.Text, 0o600); err != nil {
		return "", err
	}
	arguments := append([]string{"-O2", "-o", made, text}, s.Flags...)
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
