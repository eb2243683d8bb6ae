package user

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gemm"
	"gemm/internal/cpu"
	"gemm/internal/output"
	"gemm/internal/peer"
)

// Options are how kernels are compiled and run.
type Options struct {
	Flags   string // of the compiler; empty: DefaultFlags
	Threads int    // that a kernel may use unless a row says otherwise; 0: 1

	// Folder is where the files of the kernels are, and what is compiled. The compiler and the kernels are confined to
	// it and to Limits. Empty: there is a scratch folder, and nothing is confined.
	Folder      string
	Limits      Limits
	CompileTime time.Duration // of the compiler; 0: compileTime
	// Forbidden are beginnings of symbols that a library may not use. If there are any, it may not load another library
	// or start a program either.
	Forbidden []string
}

// Limits are of each process of a kernel.
type Limits struct {
	Memory, File int64         // bytes of address space, and of a file
	Processes    int           // and threads
	Time         time.Duration // processor time of a request, which is a call or several short ones; 0: no limit
}

// compilerMemory is what a compiler has at least.
const compilerMemory = 4 << 30

// confined returns the limits of processes; nil: none. A compiler may write.
func (o Options) confined(program string, compiler bool) *peer.Limits {
	if o.Folder == "" {
		return nil
	}
	l := &peer.Limits{Holder: program, Folder: o.Folder, Write: compiler, Memory: o.Limits.Memory, File: o.Limits.File,
		Processes: o.Limits.Processes, Time: o.Limits.Time}
	if compiler {
		l.Memory = max(l.Memory, compilerMemory)
	}
	return l
}

// Unconfined returns words for what processes are not confined in on this host, of files, processes,
// network, user and processors.
func Unconfined() ([]string, error) {
	program, err := peer.Program()
	if err != nil {
		return nil, err
	}
	l, err := peer.NewConfined(program, &peer.Limits{})
	if err != nil {
		return nil, err
	}
	defer l.Kill()
	return l.Unconfined()
}

// Kernels are kernels that have been compiled and found, ready to be measured. Close removes what was compiled.
type Kernels struct {
	kernels []*kernel
	scratch *output.Scratch // nil: nothing was compiled
}

type kernel struct {
	Kernel
	program  string            // that holds a library
	file     string            // the shared library
	symbols  map[string]string // the functions by element types
	compiled gemm.Params       // what was compiled by what; nil: nothing was
	digest   string            // of the file that the user gave, and of what compiled it
	threads  int               // the default
	threaded bool              // it may use threads
	warning  string            // of rows; empty: none
	said     string            // by the compiler
	limit    *peer.Limits
	fault    error                         // why it cannot run; nil: it can
	idle     peer.Pool[int, *peer.Library] // by threads
}

// Open compiles sources and finds the functions, and loads each library once. Rows of a kernel that cannot run say
// why, and so do Faults. Names are distinct.
func Open(ctx context.Context, kernels []Kernel, o Options) (*Kernels, error) {
	all := &Kernels{}
	if len(kernels) == 0 {
		return all, nil
	}
	program, err := peer.Program()
	if err != nil {
		return nil, fmt.Errorf("a kernel needs a process of its own: %w", err)
	}
	compilers := map[string]peer.Compiler{}
	for _, k := range kernels {
		made := &kernel{Kernel: k, program: program, threads: max(1, o.Threads), limit: o.confined(program, false)}
		all.kernels = append(all.kernels, made)
		made.fault = all.prepare(ctx, made, compilers, o)
		if err := ctx.Err(); err != nil {
			all.Close()
			return nil, err
		}
	}
	return all, nil
}

// Faults returns why each kernel cannot run, in one line that says what to do; nil: it can.
func (all *Kernels) Faults() []error {
	var out []error
	for _, k := range all.kernels {
		out = append(out, k.fault)
	}
	return out
}

// Said returns what the compiler printed of each kernel.
func (all *Kernels) Said() (out []string) {
	for _, k := range all.kernels {
		out = append(out, k.said)
	}
	return out
}

// prepare makes k ready to run. compilers are those that were found before, by language.
func (all *Kernels) prepare(ctx context.Context, k *kernel, compilers map[string]peer.Compiler,
	o Options) (err error) {
	if k.file, err = filepath.Abs(k.Path); err != nil {
		return err
	}
	if k.IsSource() {
		if err = all.compile(ctx, k, compilers, o); err != nil {
			return err
		}
	}
	if err = k.find(o.Forbidden); err != nil {
		return err
	}
	return k.check(ctx)
}

func (all *Kernels) compile(ctx context.Context, k *kernel, compilers map[string]peer.Compiler, o Options) error {
	if info, err := os.Stat(k.Path); err != nil {
		return absent(err)
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", k.Path)
	}
	c, found := compilers[k.Language()]
	if !found {
		var err error
		if c, err = newCompiler(ctx, k.Language()); err != nil {
			return fmt.Errorf("%s: %w", k.Path, err)
		}
		compilers[k.Language()] = c
	}
	c.Limits = o.confined(k.program, true)
	if all.scratch == nil && o.Folder == "" {
		var err error
		if all.scratch, err = output.NewScratch("bring"); err != nil {
			return err
		}
	}
	if o.Folder == "" {
		o.Folder = all.scratch.Path
	}
	return k.build(ctx, c, cmp.Or(o.Flags, DefaultFlags), o)
}

// starters matches functions that load libraries or start programs.
var starters = regexp.MustCompile(`^(dl(m?open|v?sym)|system|popen|posix_spawnp?|f?exec[vl]p?e?|execveat)$`)

// absent returns a shorter error for a file that is not there.
func absent(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s", path.Path)
	}
	return err
}

// find finds the functions of k in its library, and the ABI.
func (k *kernel) find(forbidden []string) error {
	file := k.file
	if !k.IsSource() {
		file = k.Path // as the user knows it
	}
	l, err := examine(file)
	if err != nil {
		return absent(err)
	}
	for _, name := range l.imports {
		begins := func(with string) bool { return strings.HasPrefix(name, with) }
		if slices.ContainsFunc(forbidden, begins) || forbidden != nil && starters.MatchString(name) {
			return fmt.Errorf("%s uses %s, which is forbidden", k.Path, name)
		}
	}
	if k.threaded = l.threaded; !k.threaded {
		k.threads = 1
	}
	if k.symbols, err = k.functions(l.exports); err != nil {
		return fmt.Errorf("%s: %w", k.Path, err)
	}
	text, err := os.ReadFile(k.Path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(fmt.Append(text, k.compiled))
	k.digest = fmt.Sprintf("%x", sum[:6])
	return nil
}

// loadTime is how long a library may take to load.
const loadTime = time.Minute

// check loads the library once, in a process that is kept for the first row.
func (k *kernel) check(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	l, err := k.load(limited, k.threads)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: the library did not load within %v", k.Path, loadTime)
	case err != nil:
		reason := strings.ReplaceAll(err.Error(), k.file, filepath.Base(k.file))
		if missingOpenMP.MatchString(reason) {
			reason += ": compile it with -fopenmp"
		}
		return fmt.Errorf("%s cannot be loaded: %s", k.Path, reason)
	}
	k.idle.Put(k.threads, l)
	return nil
}

// missingOpenMP matches what the loader says of a library with OpenMP that was linked without it.
var missingOpenMP = regexp.MustCompile(`undefined symbol: (GOMP_|omp_|__kmpc_)`)

// threadVariables are the environment variables that say how many threads a library uses.
var threadVariables = []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"}

// load returns the library in a new process, with that many threads.
func (k *kernel) load(ctx context.Context, threads int) (*peer.Library, error) {
	l, err := peer.NewConfined(k.program, k.limit)
	if err != nil {
		return nil, err
	}
	for _, name := range threadVariables {
		if err = l.Setenv(name, fmt.Sprint(threads)); err != nil {
			break
		}
	}
	if err == nil {
		err = l.OpenContext(ctx, k.file)
	}
	if err != nil {
		l.Kill()
		return nil, err
	}
	return l, nil
}

// acquire returns a process that holds the library, one that is idle or a new one.
func (k *kernel) acquire(ctx context.Context, threads int) (*peer.Library, error) {
	if l, ok := k.idle.Get(threads); ok {
		_ = cpu.PinProcess(strconv.Itoa(l.PID()), cpu.Allowed()) // it was started when other processors were chosen
		return l, nil
	}
	return k.load(ctx, threads)
}

// Close ends the processes and removes what was compiled.
func (all *Kernels) Close() {
	for _, k := range all.kernels {
		k.idle.Each((*peer.Library).Kill)
	}
	if all.scratch != nil {
		all.scratch.Remove()
	}
}
