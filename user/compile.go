package user

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"gemm/internal/peer"
)

// DefaultFlags are the compiler options of sources unless the user gives others.
const DefaultFlags = "-O3 -march=native"

// compileTime is how long a compiler may take.
const compileTime = 5 * time.Minute

// toolchains have the environment variable that names the compiler of a language, and the names that are tried
// without it.
var toolchains = map[string]struct {
	variable string
	names    []string
}{
	"C":       {"CC", []string{"cc", "gcc", "clang"}},
	"C++":     {"CXX", []string{"c++", "g++", "clang++"}},
	"Fortran": {"FC", []string{"gfortran", "flang"}},
}

// newCompiler returns the compiler of the language: the variable's if it is set, or the first one that is found.
func newCompiler(ctx context.Context, language string) (peer.Compiler, error) {
	t := toolchains[language]
	c, err := peer.FindCompiler(ctx, t.variable, t.names)
	if errors.Is(err, peer.ErrNoCompiler) {
		err = fmt.Errorf("no compiler for %s: install %s, or set %s", language, strings.Join(t.names, " or "), t.variable)
	}
	return c, err
}

// behind matches options that a linker reads in their order: they stand behind the source.
var behind = regexp.MustCompile(`^-(l|L|Wl,)`)

// compile compiles the source of k into a shared library in the folder and returns its file.
func compile(ctx context.Context, c peer.Compiler, k Kernel, flags, folder string) (string, error) {
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
	if k.language() == "Fortran" {
		before = append(before, "-J"+folder) // for module files
	}
	arguments := append(append(before, "-shared", "-fPIC", "-o", out, source), after...)
	said, err := c.Run(ctx, compileTime, arguments...)
	if err != nil {
		return "", fmt.Errorf("%s does not compile: %s", k.Path, firstError(said, err))
	}
	return out, nil
}

// errorLine matches the line of a compiler or linker that says what is wrong, and errorPlace the line of gfortran
// before it that says where.
var (
	errorLine  = regexp.MustCompile(`(?m)^.*([Ee]rror:|undefined reference|cannot find|unrecognized).*$`)
	errorPlace = regexp.MustCompile(`(?m)^(.+:\d+:\d+:)\n\n`)
)

// parallel matches sources with OpenMP, and openMP the options that turn it on or off.
var (
	parallel = regexp.MustCompile(`(?mi)^[ \t]*(#[ \t]*(pragma[ \t]+omp|include[ \t]*[<"]omp\.h)|[!c*]\$omp)\b|` +
		`_Pragma\s*\(\s*"omp\b`)
	openMP = regexp.MustCompile(`(^|\s)[-/](f|q|fno-)?openmp`)
)

// build compiles the source of k with OpenMP if the source has it. It returns the file, the options and, if the
// compiler cannot do so, what it says of that.
func build(ctx context.Context, c peer.Compiler, k Kernel, flags, folder string) (file, used, warning string,
	err error) {
	text, err := os.ReadFile(k.Path)
	if err != nil {
		return "", "", "", err
	}
	if !parallel.Match(text) || openMP.MatchString(flags) {
		file, err = compile(ctx, c, k, flags, folder)
		return file, flags, "", err
	}
	used = flags + " -fopenmp"
	if file, err = compile(ctx, c, k, used, folder); err == nil {
		return file, used, "", nil
	}
	if file, alone := compile(ctx, c, k, flags, folder); alone == nil {
		return file, flags, "compiled without OpenMP, so it has one thread: with -fopenmp, " + err.Error(), nil
	}
	return "", used, "", err
}

// firstError returns the first error that a compiler has printed, or its first line, or err.
func firstError(said string, err error) string {
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	line := errorLine.FindString(said)
	if place := errorPlace.FindStringSubmatch(said); place != nil && strings.HasPrefix(line, "Error:") {
		line = place[1] + " " + line
	}
	return strings.TrimSpace(cmp.Or(line, first, err.Error()))
}
