package reference

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gemm"
	"gemm/internal/dl"
)

// library is a library that may be found at run time.
type library struct {
	name     string   // of the variant, after the slash
	title    string   // in prose
	variable string   // environment variable with a path or name to use instead of the names
	names    []string // that are tried in order, as expand has them
	remedy   string   // what to install
	// load opens the file in a place and prepares it: it makes the settings that the
	// library reads when it is opened or first used, and says what it is.
	load func(p place, name string) (*routines, error)

	mu     sync.Mutex
	opened *routines       // in this process
	idle   map[int][]*peer // in processes of their own, by threads
}

// routines is a library that has been opened.
type routines struct {
	file         string // base name of what was opened
	version      string
	kernel       string // what it computes with on this processor
	forced       string // the setting by which it was made to; empty: its own choice
	slow         string // why the kernel does not suit the processor; empty: it does
	sgemm, dgemm uintptr
	// setThreads sets the number of threads of later calls, and returns the number
	// that they will use: fewer where the library has not so many.
	setThreads func(n int) int
	// perThread: setThreads holds only for calls from the same thread of the
	// operating system.
	perThread bool

	// mu is held for reading during calls, and for writing while the number of
	// threads, which all calls share, is changed.
	mu      sync.RWMutex
	threads int
}

// described returns the kernel with what there is to say of it.
func (r *routines) described() string {
	kernel := r.kernel
	if r.forced != "" {
		kernel += " (" + r.forced + ")"
	}
	if r.slow != "" {
		kernel += " (slow on this processor: " + r.slow + ")"
	}
	return kernel
}

// resolved returns what there is to say of a product by r in a process that is its
// own or that it shares with this program.
func (r *routines) resolved(threads int, process string) gemm.Params {
	return gemm.Params{"threads": threads, "version": r.version, "kernel": r.described(), "library": r.file, "process": process}
}

// open opens the library in this process unless it has been, and returns it. The
// error is an ErrUnavailable that names what was tried and what to do.
func (l *library) open() (*routines, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		return l.opened, nil
	}
	r, err := l.search(func(name string) (*routines, error) {
		p := new(here)
		calm(p)
		return l.load(p, name)
	})
	l.opened = r
	return r, err
}

// search calls load with the names of the library until one succeeds.
func (l *library) search(load func(name string) (*routines, error)) (*routines, error) {
	open := func(name string) (*routines, error) {
		if err := dl.Check(name); err != nil {
			return nil, err
		}
		return load(name)
	}
	if name := os.Getenv(l.variable); name != "" {
		r, err := open(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %s=%s: %s", gemm.ErrUnavailable, l.variable, name, line(err))
		}
		return r, nil
	}
	var broken string
	for _, name := range expand(l.names) {
		r, err := open(name)
		if err == nil {
			return r, nil
		}
		if !absent(name, err) {
			broken = " (" + line(err) + ")"
		}
	}
	return nil, fmt.Errorf("%w: no %s among %s%s; %s, or set %s to the path of one",
		gemm.ErrUnavailable, l.title, strings.Join(l.names, ", "), broken, l.remedy, l.variable)
}

// absent reports whether a library could not be opened because it is not there. The
// loader of Linux names the file that is missing: if that is not the library, the library
// is there and depends on it.
func absent(name string, err error) bool {
	return runtime.GOOS == "linux" && strings.HasPrefix(line(err), name+": cannot open")
}

// line returns the first line of an error's text.
func line(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// anyVersion stands for the version in the name of a library.
const anyVersion = "[0-9]"

// expand replaces patterns. One that has a slash stands for the files that match, those of
// one folder in order of version. Others are names for the system's loader, which finds
// them where libraries are installed on this system; anyVersion in one stands for each
// version. The newest version comes first: what is called has been the same in all.
func expand(names []string) []string {
	var out []string
	for _, name := range names {
		switch {
		case strings.Contains(name, "/"):
			files, _ := filepath.Glob(name)
			slices.SortStableFunc(files, func(a, b string) int {
				return cmp.Or(cmp.Compare(filepath.Dir(a), filepath.Dir(b)), cmp.Compare(len(b), len(a)), cmp.Compare(b, a))
			})
			out = append(out, files...)
		case strings.Contains(name, anyVersion):
			for version := 9; version >= 0; version-- {
				out = append(out, strings.Replace(name, anyVersion, strconv.Itoa(version), 1))
			}
		default:
			out = append(out, name)
		}
	}
	return out
}

// decorated returns the names that a symbol may have. Some builds of OpenBLAS end their
// symbols in 64_ if their integers have 64 bits, and those that pip installs begin with
// scipy_. The peer program knows the same names.
func decorated(symbol string) []string {
	return []string{symbol, symbol + "64_", "scipy_" + symbol, "scipy_" + symbol + "64_"}
}

// choose returns the names of libraries on this system.
func choose(linux, darwin []string) []string {
	if runtime.GOOS == "darwin" {
		return darwin
	}
	return linux
}

// newRoutines looks up what every library has.
func newRoutines(p place, name string) (*routines, error) {
	r := &routines{file: filepath.Base(name)}
	for symbol, to := range map[string]*uintptr{"sgemm_": &r.sgemm, "dgemm_": &r.dgemm} {
		address, err := p.find(symbol)
		if err != nil {
			return nil, err
		}
		*to = address
	}
	return r, nil
}

// lacking returns an error unless p has the symbols.
func lacking(p place, symbols ...string) error {
	for _, symbol := range symbols {
		if _, err := p.find(symbol); err != nil {
			return err
		}
	}
	return nil
}

// threadsBy returns a setThreads of functions of p that set and return the number: 0
// where the process of the library has ended.
func threadsBy(p place, set, get string) func(n int) int {
	return func(n int) int {
		if _, err := p.integer(set, n); err != nil {
			return 0
		}
		n, _ = p.integer(get)
		return n
	}
}

// mostThreads returns the number of threads, at most n, that calls can use.
func (r *routines) mostThreads(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.threads = r.setThreads(n)
	return r.threads
}

// enter begins a call with that many threads.
func (r *routines) enter(threads int) {
	for {
		r.mu.RLock()
		if r.threads == threads {
			break
		}
		r.mu.RUnlock()
		r.mostThreads(threads)
	}
	if r.perThread {
		runtime.LockOSThread()
		r.setThreads(threads)
	}
}

// leave ends a call.
func (r *routines) leave() {
	if r.perThread {
		runtime.UnlockOSThread()
	}
	r.mu.RUnlock()
}

// calm keeps the workers of libraries in this process from spinning long between
// calls. It has to come before anything that may load libgomp or OpenBLAS, whose
// workers look at 2¹⁶ ticks of the clock for work before they sleep; 2²⁶ is the
// default.
func calm(p place) {
	set(p, "1000", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
	set(p, "16", "OPENBLAS_THREAD_TIMEOUT")
}
