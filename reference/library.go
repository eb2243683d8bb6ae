package reference

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gemm"
)

// library is a library that may be found at run time.
type library struct {
	name     string   // of the variant, after the slash
	title    string   // in prose
	variable string   // environment variable with a path or name to use instead of the names
	names    []string // that are tried in order: a name for the system's loader, or a pattern of paths
	remedy   string   // what to install
	// load opens the file and prepares it: it makes the settings that the library
	// reads when it is opened or first used, and says what it is.
	load func(name string) (*routines, error)

	mu     sync.Mutex
	opened *routines
}

// routines is a library that has been opened.
type routines struct {
	file         string // base name of what was opened
	version      string
	kernel       string // what it computes with on this processor
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

// open opens the library unless it has been, and returns it. The error is an
// ErrUnavailable that names what was tried and what to do.
func (l *library) open() (*routines, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		return l.opened, nil
	}
	if name := os.Getenv(l.variable); name != "" {
		r, err := l.load(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %s=%s: %s", gemm.ErrUnavailable, l.variable, name, line(err))
		}
		l.opened = r
		return r, nil
	}
	var broken string
	for _, name := range expand(l.names) {
		r, err := l.load(name)
		if err == nil {
			l.opened = r
			return r, nil
		}
		// The loader of Linux names the file that is missing: another one than this
		// is what a library that is there depends on.
		if text := line(err); runtime.GOOS != "linux" || !strings.HasPrefix(text, name+": cannot open") {
			broken = " (" + text + ")"
		}
	}
	return nil, fmt.Errorf("%w: no %s among %s%s; %s, or set %s to the path of one",
		gemm.ErrUnavailable, l.title, strings.Join(l.names, ", "), broken, l.remedy, l.variable)
}

// line returns the first line of an error's text.
func line(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// expand replaces patterns of paths by the files that match.
func expand(names []string) []string {
	var out []string
	for _, name := range names {
		if strings.ContainsAny(name, "*/") {
			files, _ := filepath.Glob(name)
			out = append(out, files...)
		} else {
			out = append(out, name)
		}
	}
	return out
}

// choose returns the names of libraries on this system.
func choose(linux, darwin []string) []string {
	if runtime.GOOS == "darwin" {
		return darwin
	}
	return linux
}

// newRoutines looks up what every library has. set has been looked up already.
func newRoutines(d *dynamic, name string) (*routines, error) {
	r := &routines{file: filepath.Base(name)}
	for symbol, to := range map[string]*uintptr{"sgemm_": &r.sgemm, "dgemm_": &r.dgemm} {
		address, err := d.symbol(symbol)
		if err != nil {
			return nil, err
		}
		*to = address
	}
	return r, nil
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

// set makes a setting in the environment of the libraries, unless one of the names
// is set already; the first is the one that is set. It reports whether it did.
func set(value string, names ...string) bool {
	if slices.ContainsFunc(names, func(name string) bool { _, ok := os.LookupEnv(name); return ok }) {
		return false
	}
	return setenv(names[0], value) == nil
}

// calm keeps the workers of libgomp from spinning long between calls. It has to
// come before anything that may load libgomp.
func calm() { set("1000", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY") }

// mapped returns the files that the process has mapped and whose base name begins
// with the prefix, in order of address; none where the system does not say.
func mapped(prefix string) []string {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil
	}
	defer maps.Close()
	var out []string
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if _, file, ok := strings.Cut(lines.Text(), "/"); ok {
			file = "/" + file
			if strings.HasPrefix(filepath.Base(file), prefix) && !slices.Contains(out, file) {
				out = append(out, file)
			}
		}
	}
	return out
}
