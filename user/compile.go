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

	"gemm"
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

// compile compiles the sources of k into a shared library in the folder and returns its file, and what was printed.
func (k *kernel) compile(ctx context.Context, c peer.Compiler, flags string, o Options) (file, said string, err error) {
	out := filepath.Join(o.Folder, k.Name+".so")
	var before, after []string
	for _, flag := range strings.Fields(flags) {
		if behind.MatchString(flag) {
			after = append(after, flag)
		} else {
			before = append(before, flag)
		}
	}
	if k.Language() == "Fortran" {
		before = append(before, "-J"+o.Folder) // for module files
	}
	arguments := append(before, "-shared", "-fPIC", "-o", out)
	for _, source := range append([]string{k.Path}, k.More...) {
		if strings.HasPrefix(source, "-") {
			source = "./" + source
		}
		arguments = append(arguments, source)
	}
	said, err = c.Run(ctx, cmp.Or(o.CompileTime, compileTime), append(arguments, after...)...)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%s does not compile within %v", k.Path, cmp.Or(o.CompileTime, compileTime))
	case err != nil:
		err = fmt.Errorf("%s does not compile: %s", k.Path, FirstError(said, err))
	}
	return out, said, err
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

// build compiles the sources of k with OpenMP if one of them has it, and keeps the file, the options and what the
// compiler says.
func (k *kernel) build(ctx context.Context, c peer.Compiler, flags string, o Options) (err error) {
	omp := false
	for _, source := range append([]string{k.Path}, k.More...) {
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		omp = omp || parallel.Match(text)
	}
	used := flags
	if omp && !openMP.MatchString(flags) {
		used += " -fopenmp"
	}
	k.file, k.said, err = k.compile(ctx, c, used, o)
	if err != nil && used != flags {
		if file, said, alone := k.compile(ctx, c, flags, o); alone == nil {
			k.warning = "compiled without OpenMP, so it has one thread: with -fopenmp, " + err.Error()
			k.file, k.said, used, err = file, said, flags, nil
		}
	}
	k.compiled = gemm.Params{"compiler": c.Version, "cflags": used}
	return err
}

// FirstError returns the first error that a compiler has printed, or its first line, or err.
func FirstError(said string, err error) string {
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	line := errorLine.FindString(said)
	if place := errorPlace.FindStringSubmatch(said); place != nil && strings.HasPrefix(line, "Error:") {
		line = place[1] + " " + line
	}
	return strings.TrimSpace(cmp.Or(line, first, err.Error()))
}
