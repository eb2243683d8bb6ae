package reference

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"gemm"
	"gemm/internal/dl"
	"gemm/internal/peer"
)

// library is a library that may be found at run time.
type library struct {
	name string // of the variant, after the slash
	dl.Search
	// singles and doubles are its products; empty: sgemm_ and dgemm_.
	singles, doubles string
	most             int // dimension that it multiplies; 0: any
	// hold is the environment variable of peer.Settings that holds the library to an instruction
	// set; empty: there is none.
	hold string
	// load opens the file in a place and prepares it: it applies the settings that the library
	// reads at its start or first use, and returns its routines and version.
	load func(p place, name string) (*routines, error)

	mu     sync.Mutex
	opened *routines             // in this process
	idle   peer.Pool[int, *held] // in processes of their own, by threads
}

// routines is a library that has been opened.
type routines struct {
	file         string // base name of what was opened
	version      string
	kernel       string // what it computes with on this processor
	forced       string // the setting by which it was made to; empty: its own choice
	slow         string // why the kernel does not suit the processor; empty: it does
	sgemm, dgemm uintptr
	// setThreads sets the number of threads of later calls. It returns the number that they will
	// use, which is lower if the library has fewer.
	setThreads func(n int) int
	// perThread: setThreads holds only for calls from the same thread of the operating system.
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

// resolved returns the parameters of a product by r, in its own process or in this one.
func (r *routines) resolved(threads int, process string) gemm.Params {
	return gemm.Params{"threads": threads, "version": r.version, "kernel": r.described(), "library": r.file,
		"process": process}
}

// open opens the library in this process unless it has been, and returns it. The
// error is an ErrUnavailable that names what was tried and what to do.
func (l *library) open() (*routines, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		return l.opened, nil
	}
	settings, err := l.settings()
	if err != nil {
		return nil, err
	}
	r, err := dl.Find(l.Search, func(name string) (*routines, error) {
		p := new(inProcess)
		limitSpinning(p)
		return l.loadHeld(p, name, settings)
	})
	if err == nil {
		err = peer.CheckKernel(r.kernel)
	}
	if err != nil {
		return nil, err
	}
	l.opened = r
	return r, nil
}

// settings returns the environment variables that hold libraries to the instruction set of the
// comparison. The error is an ErrUnavailable: l cannot be held to it.
func (l *library) settings() (map[string]string, error) {
	settings, err := peer.Settings()
	if err == nil && settings != nil && settings[l.hold] == "" {
		err = peer.NotHeld("no setting holds it")
	}
	return settings, err
}

// loadHeld is load with the environment variables. A value that the user has set stays.
func (l *library) loadHeld(p place, name string, settings map[string]string) (*routines, error) {
	for variable, value := range settings {
		set(p, value, variable)
	}
	r, err := l.load(p, name)
	if err == nil && settings != nil && r.forced == "" {
		r.forced = l.hold + "=" + cmp.Or(os.Getenv(l.hold), settings[l.hold])
	}
	return r, err
}

// decorated returns the names that a symbol may have. Some builds of OpenBLAS end their
// symbols in 64_ if their integers have 64 bits, and those that pip installs begin with
// scipy_. The program of internal/peer knows the same names.
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

func (l *library) product(typ string) string {
	return cmp.Or(gemm.ByType(typ, l.doubles, l.singles, "", "", ""), gemm.ByType(typ, "dgemm_", "sgemm_", "", "", ""))
}

// accepts returns an ErrUnavailable if l does not multiply matrices of the shape.
func (l *library) accepts(s gemm.Shape) error {
	if l.most > 0 && max(s.M, s.N, s.K) > l.most {
		return gemm.Unavailablef("%s: this library multiplies matrices up to n = %d", s, l.most)
	}
	return nil
}

// openIn opens l in p, and looks up its products and the other symbols.
func (l *library) openIn(p place, name string, others ...string) (*routines, error) {
	if err := p.Open(name); err != nil {
		return nil, err
	}
	return l.routines(p, name, others...)
}

// routines is openIn for a library that is open.
func (l *library) routines(p place, name string, others ...string) (*routines, error) {
	r := &routines{file: filepath.Base(name)}
	for symbol, to := range map[string]*uintptr{l.product("f32"): &r.sgemm, l.product("f64"): &r.dgemm} {
		address, err := p.Find(symbol)
		if err != nil {
			return nil, err
		}
		*to = address
	}
	for _, symbol := range others {
		if _, err := p.Find(symbol); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// threadsBy returns a setThreads of functions of p that set and return the number: 0
// where the process of the library has ended.
func threadsBy(p place, set, get string) func(n int) int {
	return func(n int) int {
		if _, err := p.Integer(set, n); err != nil {
			return 0
		}
		n, _ = p.Integer(get)
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

func (r *routines) leave() {
	if r.perThread {
		runtime.UnlockOSThread()
	}
	r.mu.RUnlock()
}

// limitSpinning limits the spinning of library workers in this process between calls. It must come before anything that
// may load libgomp or OpenBLAS. The workers then poll for 2¹⁶ ticks of the clock before they sleep; the default is 2²⁶.
func limitSpinning(p place) {
	set(p, "1000", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
	set(p, "16", "OPENBLAS_THREAD_TIMEOUT")
}
