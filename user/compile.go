package user

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"gemm/internal/child"
)

// DefaultFlags are the compiler options of sources unless the user gives others.
const DefaultFlags = "-O3 -march=native"

// compiler is a compiler of sources.
type compiler struct {
	command []string // with the options that CC or CXX has
	version string   // the first line that it prints of itself
}

// compileTime is how long a compiler may take, and versionTime how long to say its version.
const (
	compileTime = 5 * time.Minute
	versionTime = 20 * time.Second
)

// newCompiler returns the compiler of the language: CC or CXX if it is set, or the first one that is found.
func newCompiler(ctx context.Context, language string) (*compiler, error) {
	variable, names := "CC", []string{"cc", "gcc", "clang"}
	if language == "c++" {
		variable, names = "CXX", []string{"c++", "g++", "clang++"}
	}
	c := &compiler{command: strings.Fields(os.Getenv(variable))}
	if len(c.command) == 0 {
		for _, name := range names {
			if _, err := exec.LookPath(name); err == nil {
				c.command = []string{name}
				break
			}
		}
	}
	if len(c.command) == 0 {
		return nil, fmt.Errorf("no compiler for %s: install %s, or set %s", strings.ToUpper(language),
			strings.Join(names, " or "), variable)
	}
	said, err := c.run(ctx, versionTime, "--version")
	if err != nil {
		return nil, fmt.Errorf("the compiler %s: %w", strings.Join(c.command, " "), err)
	}
	c.version, _, _ = strings.Cut(said, "\n")
	return c, nil
}

// run runs the compiler and returns what it prints.
func (c *compiler) run(ctx context.Context, limit time.Duration, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, c.command[0], append(c.command[1:len(c.command):len(c.command)], arguments...)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	err := child.Run(cmd, time.Second)
	return said.String(), cmp.Or(ctx.Err(), err)
}

// behind matches options that a linker reads in their order: they stand behind the source.
var behind = regexp.MustCompile(`^-(l|L|Wl,)`)

// compile compiles the source of k into a shared library in the folder and returns its file.
func (c *compiler) compile(ctx context.Context, k Kernel, flags, folder string) (string, error) {
	out := filepath.Join(folder, k.Name+".so")
	var before, after []string
	for _, flag := range strings.Fields(flags) {
		if behind.MatchString(flag) {
			after = append(after, flag)
		} else {
			before = append(before, flag)
		}
	}
	source := k.Path
	if strings.HasPrefix(source, "-") {
		source = "./" + source
	}
	arguments := append(append(before, "-shared", "-fPIC", "-o", out, source), after...)
	said, err := c.run(ctx, compileTime, arguments...)
	if err != nil {
		return "", fmt.Errorf("%s does not compile: %s", k.Path, firstError(said, err))
	}
	return out, nil
}

// errorLine matches the line of a compiler or linker that says what is wrong.
var errorLine = regexp.MustCompile(`(?m)^.*(error:|undefined reference|cannot find|unrecognized).*$`)

// firstError returns the first error that a compiler has printed, or its first line, or err.
func firstError(said string, err error) string {
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return strings.TrimSpace(cmp.Or(errorLine.FindString(said), first, err.Error()))
}
