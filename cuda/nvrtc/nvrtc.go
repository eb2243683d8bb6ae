// Package nvrtc compiles CUDA C++ by NVIDIA's NVRTC, which is opened at run time: any major version
// from 11 to 13 (NVRTC, CUDA 13.0 documentation). It needs no GPU, no driver and no header.
package nvrtc

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gemm"
	"gemm/internal/dl"
)

// Variable is the environment variable with the path or name of a library to open in
// place of those that are searched for.
const Variable = "GEMM_NVRTC"

// search is what is tried, in this order: names for the system's loader, and paths in toolkits.
var search = dl.Search{
	Title: "NVRTC", Variable: Variable,
	Names: []string{
		"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
		"/usr/local/cuda/lib64/libnvrtc.so*", "/usr/local/cuda-*/lib64/libnvrtc.so*",
	},
	Remedy: "install the CUDA toolkit's NVRTC",
}

// Library is an NVRTC that has been opened.
type Library struct {
	File         string // name or path by which it was opened
	Major, Minor int    // of the toolkit it belongs to
	functions
	mu sync.Mutex
}

// Version returns "13.0" of toolkit 13.0.
func (l *Library) Version() string { return fmt.Sprintf("%d.%d", l.Major, l.Minor) }

var found struct {
	sync.Mutex
	*Library
}

// Find opens the library that GEMM_NVRTC names, or the first one that exists, once in a process. The error is an
// ErrUnavailable that lists what was tried.
func Find() (*Library, error) {
	found.Lock()
	defer found.Unlock()
	if found.Library != nil {
		return found.Library, nil
	}
	l, err := dl.Find(search, open)
	found.Library = l
	return l, err
}

// Program is one source and the options with which it is compiled.
type Program struct {
	Name    string // in messages, such as naive.cu
	Source  string
	Arch    int      // 90 for sm_90
	Exact   bool     // for this architecture alone, with instructions that no other has: sm_90a
	Options []string // such as -DBM=64
	// Include is a folder with files that the source may include, and Headers are texts that it may
	// include by name. What the folder has is not in the key of a Cache, which keeps no such program.
	Include string
	Headers map[string]string
}

// CompilerOptions returns all options of NVRTC that the code of the program depends on.
func (p Program) CompilerOptions() []string {
	out := append([]string{"--gpu-architecture=" + p.architecture(), "--std=c++17"}, p.Options...)
	if p.Include != "" {
		out = append(out, "--include-path="+p.Include)
	}
	return out
}

// architecture returns what the compiler calls the architecture: sm_90 or sm_90a.
func (p Program) architecture() string {
	name := "sm_" + strconv.Itoa(p.Arch)
	if p.Exact {
		name += "a"
	}
	return name
}

// Kernel is what the compiler says of one kernel.
type Kernel struct {
	Registers int `json:"registers"` // of a thread
	Spills    int `json:"spills"`    // bytes stored and loaded for want of registers
	Stack     int `json:"stack"`     // bytes of a thread
	Shared    int `json:"shared"`    // bytes of a block, without what a launch asks for besides
}

// Image is a compiled Program.
type Image struct {
	Code     []byte            // a cubin
	Warnings string            // what the compiler says besides; empty: nothing
	Kernels  map[string]Kernel // by name
}

// ErrCompile is wrapped by errors of programs that do not compile.
var ErrCompile = errors.New("nvrtc: does not compile")

// Compile compiles the program. It may be called on several goroutines; one compiles at a time. The error is an
// ErrCompile with the compiler's first error, or says that this version does not know the architecture.
func (l *Library) Compile(p Program) (Image, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	arch := p.architecture()
	options := append(p.CompilerOptions(), "--ptxas-options=-v")
	if l.Major > 12 || l.Major == 12 && l.Minor >= 9 {
		// What the driver has kept comes without a word on registers.
		options = append(options, "--no-cache")
	}
	code, log, err := l.compile(p, options)
	if err != nil {
		if strings.Contains(log, "invalid value for --gpu-architecture") {
			return Image{}, gemm.Unavailablef("NVRTC %s does not know %s", l.Version(), arch).
				WithRemedy("open another version with %s", Variable)
		}
		return Image{}, fmt.Errorf("%w: %s for %s: %s", ErrCompile, p.Name, arch, cmp.Or(firstError(log), err.Error()))
	}
	kernels, rest, err := parse(log)
	if err != nil {
		return Image{}, fmt.Errorf("%s for %s: %w", p.Name, arch, err)
	}
	return Image{code, rest, kernels}, nil
}

// firstError returns the first line of the compiler that is an error, or else its first line.
func firstError(log string) string {
	log = strings.ReplaceAll(log, "\x00", "")
	first, _, _ := strings.Cut(strings.TrimSpace(log), "\n")
	return cmp.Or(errorLine.FindString(log), first)
}

// errorLine is an error such as "f.cu(3): error: …", "f.cu(1): catastrophic error: …" or "ptxas error   : …".
var errorLine = regexp.MustCompile(`(?m)^(.*\(\d+\): (catastrophic )?|ptxas )error\b.*$`)

// The lines that ptxas writes of each kernel.
var (
	entryLine = regexp.MustCompile(`^ptxas info\s*: Compiling entry function '(\S+)' for`)
	spillLine = regexp.MustCompile(`^ptxas\s*\.?\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	usedLine  = regexp.MustCompile(`^ptxas info\s*: Used (\d+) registers`)
	sharedSum = regexp.MustCompile(`(\d+) bytes smem`)
	other     = regexp.MustCompile(`^ptxas info\s*: (\d+ bytes gmem|Function properties for|Compile time)|^\s*(\d+) bytes stack frame|^\s*$`)
)

// parse reads what the compiler says of the kernels, and returns the lines that say something else.
func parse(log string) (kernels map[string]Kernel, rest string, err error) {
	kernels = map[string]Kernel{}
	name := ""
	var left []string
	for line := range strings.Lines(strings.ReplaceAll(log, "\x00", "")) {
		line = strings.TrimRight(line, "\n")
		number := func(s string) int {
			n, atoi := strconv.Atoi(s)
			err = errors.Join(err, atoi)
			return n
		}
		k := kernels[name]
		switch {
		case entryLine.MatchString(line):
			name = entryLine.FindStringSubmatch(line)[1]
			k = Kernel{}
		case spillLine.MatchString(line):
			m := spillLine.FindStringSubmatch(line)
			k.Stack, k.Spills = number(m[1]), number(m[2])+number(m[3])
		case usedLine.MatchString(line):
			k.Registers = number(usedLine.FindStringSubmatch(line)[1])
			if m := sharedSum.FindStringSubmatch(line); m != nil {
				k.Shared = number(m[1])
			}
		case other.MatchString(line):
			continue
		default:
			left = append(left, line)
			continue
		}
		kernels[name] = k
	}
	if err == nil && len(kernels) == 0 {
		err = fmt.Errorf("nvrtc: the compiler says nothing of any kernel: %q", log)
	}
	for name, k := range kernels {
		if err == nil && k.Registers == 0 {
			err = fmt.Errorf("nvrtc: the compiler does not say how many registers %q has", name)
		}
	}
	return kernels, strings.Join(left, "\n"), err
}
