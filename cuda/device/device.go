//go:build cuda

package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/nvrtc"
)

// Device is a GPU that this process computes on. Its methods may be called on any goroutine, on one at a time.
type Device struct {
	GPU                cuda.GPU
	at                 cu.Device
	context            cu.CUContext
	stream             cu.Stream
	start              cu.Event
	packed, multiplied cu.Event // between both, around a product that packs first
	end                cu.Event
	zero               cu.Event  // before all of these
	epoch              time.Time // when zero was recorded
	items              [mostBuffers][eventsOfItem]cu.Event
	product            gemm.Exclusive
	with               []*Device // that compute the same product; nil: none
	// profiles is Backend.Profiles.
	profiles bool

	compiler *nvrtc.Cache
	kernels  map[string]*kernel // compiled and loaded, by what they were compiled from
	blas     *cublas
	monitor  *monitor // of clocks; nil: there is none
	up, down ring     // to and from the device
	placed   map[placement]*placed
	closers  []func() error // of what products keep on it

	mu     sync.Mutex
	lost   error    // guarded by mu; see Lost
	pinned [][]byte // guarded by mu: memory of the host
}

// find returns what the GPU of that number is, without a context on it.
func find(number int) (*Device, error) {
	count, err := cu.NumDevices()
	if err != nil {
		return nil, failed("cuDeviceGetCount", err)
	}
	if number < 0 || number >= count {
		return nil, gemm.Unavailablef("--device %d: there is no such GPU: this host has %d, numbered from 0", number,
			count)
	}
	at, err := cu.GetDevice(number)
	if err != nil {
		return nil, failed("cuDeviceGet", err)
	}
	d := &Device{at: at, monitor: newMonitor(at), kernels: map[string]*kernel{}, placed: map[placement]*placed{}}
	if d.GPU, err = describe(number, at); err != nil {
		return nil, err
	}
	d.GPU.Free = d.monitor.free()
	d.GPU.PCI, _ = busID(at) // it may stay unknown
	return d, nil
}

// open makes the GPU of that number this process's.
func open(number int) (_ *Device, err error) {
	d, err := find(number)
	if err != nil {
		return nil, err
	}
	// The primary context is the one that cuBLAS computes in.
	if d.context, err = d.at.RetainPrimaryCtx(); errors.Is(err, cu.OutOfMemory) {
		return nil, gemm.Unavailablef("%w: %d of %d MiB, and each process takes some hundred", errMemory,
			d.GPU.Free>>20, d.GPU.Memory>>20).
			WithRemedy("end other programs on the GPU (nvidia-smi lists them), or choose another variant, such as " +
				"parallel/packed")
	} else if err != nil {
		return nil, failed("cuDevicePrimaryCtxRetain", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	defer d.bind(&err)()
	for _, s := range d.streams() {
		if *s, err = cu.MakeStream(cu.NonBlocking); err != nil {
			return nil, failed("cuStreamCreate", err)
		}
	}
	for _, e := range d.events() {
		if *e, err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return nil, failed("cuEventCreate", err)
		}
	}
	if err := mark(d.zero, d.stream); err != nil {
		return nil, err
	}
	if err := d.stream.Synchronize(); err != nil {
		return nil, failed("cuStreamSynchronize", err)
	}
	d.epoch = time.Now()
	return d, nil
}

// streams returns the streams of kernels, of copies to the device and of copies to the host.
func (d *Device) streams() [len(stageNames)]*cu.Stream {
	return [...]*cu.Stream{&d.stream, &d.up.stream, &d.down.stream}
}

// events returns the events that the device has from the beginning to the end.
func (d *Device) events() []*cu.Event {
	out := []*cu.Event{&d.start, &d.packed, &d.multiplied, &d.end, &d.zero}
	for i := range d.items {
		for j := range d.items[i] {
			out = append(out, &d.items[i][j])
		}
	}
	return out
}

// bind makes the context current on this thread until release is called. If *err is set then,
// release checks whether the GPU is lost.
func (d *Device) bind(err *error) (release func()) {
	runtime.LockOSThread()
	if set := cu.SetCurrentContext(d.context); set != nil {
		*err = cmp.Or(*err, failed("cuCtxSetCurrent", set))
	}
	return func() {
		d.fault(*err)
		runtime.UnlockOSThread()
	}
}

func describe(number int, at cu.Device) (cuda.GPU, error) {
	g := cuda.GPU{Index: number}
	name, err := at.Name()
	if err != nil {
		return g, failed("cuDeviceGetName", err)
	}
	g.Name = strings.TrimRight(name, "\x00")
	if g.Memory, err = at.TotalMem(); err != nil {
		return g, failed("cuDeviceTotalMem", err)
	}
	var major, minor, clock, memoryClock, concurrent, ecc int
	for _, a := range []struct {
		to   *int
		what cu.DeviceAttribute
	}{
		{&major, cu.ComputeCapabilityMajor}, {&minor, cu.ComputeCapabilityMinor},
		{&g.Multiprocessors, cu.MultiprocessorCount},
		{&g.L2, cu.L2CacheSize}, {&clock, cu.ClockRate}, {&memoryClock, cu.MemoryClockRate},
		{&g.BusWidth, cu.GlobalMemoryBusWidth},
		{&g.Warp, cu.WarpSize}, {&g.BlockThreads, cu.MaxThreadsPerBlock}, {&g.BlockShared, cu.MaxSharedMemoryPerBlock},
		{&g.BlockSharedOptIn, sharedOptIn}, {&g.BlockRegisters, cu.MaxRegistersPerBlock},
		{&g.Threads, cu.MaxThreadsPerMultiprocessor},
		{&g.Blocks, blocksPerMultiprocessor}, {&g.Shared, cu.MaxSharedMemoryPerMultiprocessor},
		{&g.Registers, cu.MaxRegistersPerMultiprocessor},
		{&g.SinglePerDouble, cu.SingleToDoublePrecisionPerfRatio}, {&concurrent, cu.ConcurrentKernels},
		{&g.CopyEngines, cu.AsyncEngineCount},
		{&ecc, cu.EccEnabled},
	} {
		if *a.to, err = at.Attribute(a.what); err != nil {
			return g, failed(fmt.Sprintf("cuDeviceGetAttribute %d", a.what), err)
		}
	}
	const kilo = 1000
	g.Capability = fmt.Sprintf("%d.%d", major, minor)
	g.Clock, g.MemoryClock = clock/kilo, memoryClock/kilo
	g.ConcurrentKernels, g.ECC = concurrent != 0, ecc != 0
	return g, nil
}

// Attributes that gorgonia.org/cu does not name (CUDA Driver API, CUdevice_attribute).
const (
	sharedOptIn             cu.DeviceAttribute = 97
	blocksPerMultiprocessor cu.DeviceAttribute = 106
)

// arch returns the compute capability as compilers count it: 90 is 9.0.
func (d *Device) arch() int {
	arch, err := d.GPU.Arch()
	if err != nil {
		panic(err) // describe wrote it
	}
	return arch
}

// errLost: an earlier kernel has ended what this process can ask of the GPU.
var errLost = errors.New("cuda: the GPU is lost to this process")

// Lost reports whether a kernel has faulted, or still runs after its time. Then no call of this
// process to the GPU is reliable, and another process has to be started.
func (d *Device) Lost() bool { return d.usable() != nil }

// usable returns an error if the GPU is lost.
func (d *Device) usable() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errLost, d.lost)
}

// markLost records why the GPU is lost.
func (d *Device) markLost(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost = cmp.Or(d.lost, err)
}

// fault records that the GPU is lost if err, of the driver or of a library, has ended the context:
// every later call fails. Lack of memory or a refused launch does not end the context.
func (d *Device) fault(err error) {
	if err == nil || d.end == (cu.Event{}) {
		return
	}
	if now := d.end.Query(); now != nil && !errors.Is(now, cu.NotReady) {
		d.markLost(err)
	}
}

// wait returns when all work before the event is done, or when a device with the same product has failed. If the
// context has ended, it returns the error of the context after that work is done. If the work is not done within the
// grace, the GPU is lost: only the end of the process ends a kernel.
func (d *Device) wait(ctx context.Context, e cu.Event) error {
	const spin, pause, grace = 200 * time.Microsecond, 50 * time.Microsecond, 2 * time.Second
	var ended time.Time // when the context was seen to have ended
	for begin := time.Now(); ; {
		err := e.Query()
		if err == nil {
			return ctx.Err()
		}
		for _, o := range d.with {
			if failure := o.end.Query(); failure != nil && !errors.Is(failure, cu.NotReady) {
				err = onGPU(o.GPU.Index, failure)
			}
		}
		if !errors.Is(err, cu.NotReady) {
			err = failed("the kernel has failed", err)
			d.markLost(err)
			return err
		}
		if err := ctx.Err(); err != nil && ended.IsZero() {
			ended = time.Now()
		} else if err != nil && time.Since(ended) > grace {
			d.markLost(err)
			return err
		}
		if time.Since(begin) > spin {
			// time.Sleep takes a millisecond in a process that is idle otherwise.
			nap := syscall.NsecToTimespec(pause.Nanoseconds())
			_ = syscall.Nanosleep(&nap, nil)
		}
	}
}

// memory is a piece of the device's memory.
type memory struct {
	at    cu.DevicePtr
	bytes int64
}

// errMemory is the cause of an Unavailable: the device does not have as much memory as a product needs.
var errMemory = errors.New("too little memory of the GPU is free")

// reserve is for kernels' stacks, and for what the driver needs itself.
const reserve = 64 << 20

// room returns how many bytes of the device's memory can be taken.
func (d *Device) room() (int64, error) {
	free, _, err := cu.MemInfo()
	return max(0, free-reserve), failed("cuMemGetInfo", err)
}

// allocate returns memory of the device, 16 bytes or more. If there is not enough, the error is an errMemory, and
// nothing is allocated.
func (d *Device) allocate(bytes int64) (memory, error) {
	room, err := d.room()
	if err != nil {
		return memory{}, err
	}
	bytes = max(bytes, 16)
	if bytes > room {
		free, _, _ := cu.MemInfo()
		return memory{}, gemm.Unavailablef("%w: %d of %d MiB, and the product needs %d, besides %d for kernels",
			errMemory, free>>20, d.GPU.Memory>>20, (bytes-1)>>20+1, reserve>>20).
			WithRemedy("end other programs on the GPU (nvidia-smi lists them), or choose a smaller size, or another " +
				"variant")
	}
	at, err := cu.MemAlloc(bytes)
	if err != nil {
		return memory{}, failed("cuMemAlloc", err)
	}
	return memory{at, bytes}, nil
}

// poison fills memory with NaN. Products read matrix rows to the end of the 16-byte unit that contains the last
// element, and C only if β is not 0; what they read there must not change a result.
func (d *Device) poison(m memory, stream cu.Stream) error {
	return failed("cuMemsetD8Async", cu.MemsetD8Async(m.at, 0xff, m.bytes, stream))
}

// renew replaces memory by new memory filled with NaN on the stream. If the allocation fails, m is empty.
func (d *Device) renew(m *memory, bytes int64, on cu.Stream) (err error) {
	if err := d.free(m); err != nil {
		return err
	}
	if *m, err = d.allocate(bytes); err != nil {
		return err
	}
	return d.poison(*m, on)
}

// free gives memory back. On a GPU that is lost nothing can be.
func (d *Device) free(m *memory) error {
	if m.at == 0 || d.Lost() {
		return nil
	}
	at := m.at
	*m = memory{}
	return failed("cuMemFree", cu.MemFree(at))
}

// kernel is a function of a module that is loaded.
type kernel struct {
	function cu.Function
	module   cu.Module
	nvrtc.Kernel
}

// load compiles the program, or finds it in the cache, and returns its function called name.
// Launches may request shared bytes of shared memory.
func (d *Device) load(p nvrtc.Program, name string, shared int) (*kernel, error) {
	key := fmt.Sprint(p.Name, p.Arch, p.Exact, p.Options, p.Include, name, shared, p.Source)
	if k := d.kernels[key]; k != nil {
		return k, nil
	}
	if d.compiler == nil {
		library, err := nvrtc.Find()
		if err != nil {
			return nil, err
		}
		folder, err := nvrtc.Folder()
		if err != nil {
			return nil, err
		}
		d.compiler = &nvrtc.Cache{Compiler: library, Folder: folder}
	}
	image, err := d.compiler.Compile(p)
	if err != nil {
		return nil, err
	}
	compiled, ok := image.Kernels[name]
	if !ok {
		return nil, missing(slices.Collect(maps.Keys(image.Kernels)))
	}
	k := &kernel{Kernel: compiled}
	if k.module, err = cu.LoadData(string(image.Code)); err != nil {
		return nil, failed("cuModuleLoadData of "+p.Name, err)
	}
	if k.function, err = k.module.Function(name); err != nil {
		return nil, failed("cuModuleGetFunction "+name+" of "+p.Name, err)
	}
	const every = 48 << 10
	if shared > every {
		if err := allowShared(k.function, shared); err != nil {
			return nil, err
		}
	}
	k.Shared += shared
	d.kernels[key] = k
	return k, nil
}

// missing is the error of a program that has other kernels than the one that was requested.
type missing []string

func (m missing) Error() string {
	return fmt.Sprintf("cuda: the program has only the kernels %q", []string(m))
}

// Close gives all back. Runs must have been closed.
func (d *Device) Close() (err error) {
	if d.Lost() {
		return nil
	}
	defer func() { err = errors.Join(err, failed("cuDevicePrimaryCtxRelease", d.at.ReleasePrimaryCtx())) }()
	defer d.bind(&err)()
	for _, closer := range d.closers {
		err = errors.Join(err, closer())
	}
	if d.blas != nil {
		err = errors.Join(err, d.blas.close())
	}
	for _, key := range slices.Sorted(maps.Keys(d.kernels)) {
		err = errors.Join(err, failed("cuModuleUnload", d.kernels[key].module.Unload()))
	}
	err = errors.Join(err, d.up.close(), d.down.close())
	for _, e := range d.events() {
		err = errors.Join(err, destroyEvent(e))
	}
	for _, s := range d.streams() {
		if *s != (cu.Stream{}) {
			err = errors.Join(err, failed("cuStreamDestroy", s.Destroy()))
		}
	}
	return err
}
