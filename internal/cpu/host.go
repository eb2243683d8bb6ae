package cpu

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// Facts describes a host. Unknown values are zero or empty. Outside of Linux only the model, the
// cores and the name of the system are known, and the caches as the processor reports them.
type Facts struct {
	Model       string  // model name of the processor
	Sockets     int     // online packages
	NUMANodes   int     // online memory nodes
	Cores       int     // processors that this process may run on
	Quota       float64 // processors' worth of time that the control group grants; 0: no limit
	Caches      []Cache // of the first of the Cores, smallest level first; no instruction caches
	Memory      int64   // bytes of the machine
	MemoryLimit int64   // bytes that the control group grants; 0: no limit
	HugePages   string  // transparent huge pages: always, madvise, never, unknown
	OS          string  // distribution and kernel
}

// Cache is one level of cache as one processor sees it.
type Cache struct {
	Level  int
	Kind   string // data, unified
	Bytes  int64
	Line   int // bytes
	Shared int // processors that share it; 0: not known
}

// Host returns the facts about this host as they are now.
func Host() Facts {
	return facts(os.DirFS("/"), runtime.NumCPU(), cpuid.CPU)
}

// Available returns the memory in bytes that this process can still allocate without swapping and
// within the limit of its control group. It is 0 if that is not known.
func Available() int64 {
	return available(os.DirFS("/"))
}

// facts reads the facts from the files of fsys, the root of a Linux file system. What the files do
// not have comes from the processor itself.
func facts(fsys fs.FS, cores int, id cpuid.CPUInfo) Facts {
	allowed := ParseList(field(fsys, "proc/self/status", "Cpus_allowed_list"))
	first := 0
	if len(allowed) > 0 {
		first = allowed[0]
	}
	f := Facts{
		Model:     cmp.Or(field(fsys, "proc/cpuinfo", "model name"), strings.TrimSpace(id.BrandName), runtime.GOARCH),
		Sockets:   sockets(fsys),
		NUMANodes: len(ParseList(text(fsys, "sys/devices/system/node/online"))),
		Cores:     cores,
		Quota:     quota(fsys),
		Caches:    caches(fsys, first),
		Memory:    kibibytes(field(fsys, "proc/meminfo", "MemTotal")),
		HugePages: hugePages(text(fsys, "sys/kernel/mm/transparent_hugepage/enabled")),
		OS:        system(fsys),
	}
	if limit, _ := memory(fsys); limit < f.Memory {
		f.MemoryLimit = limit
	}
	if len(f.Caches) == 0 {
		f.Caches = ownCaches(id)
	}
	return f
}

// text returns the contents of a file without white space around them, or "" if it cannot be read.
func text(fsys fs.FS, name string) string {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// number returns the integer in a file.
func number(fsys fs.FS, name string) (int64, bool) {
	n, err := strconv.ParseInt(text(fsys, name), 10, 64)
	return n, err == nil
}

// field returns the value of the first line "key: value" of a file.
func field(fsys fs.FS, name, key string) string {
	for line := range strings.Lines(text(fsys, name)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// kibibytes returns the bytes of a value of /proc/meminfo, "16384 kB".
func kibibytes(value string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(value, " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// sockets counts the packages of the processors.
func sockets(fsys fs.FS) int {
	files, _ := fs.Glob(fsys, "sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id")
	packages := map[string]bool{}
	for _, name := range files {
		packages[text(fsys, name)] = true
	}
	return len(packages)
}

// caches returns the data and unified caches of one processor.
func caches(fsys fs.FS, processor int) []Cache {
	dirs, _ := fs.Glob(fsys, fmt.Sprintf("sys/devices/system/cpu/cpu%d/cache/index[0-9]*", processor))
	var out []Cache
	for _, dir := range dirs {
		kind := strings.ToLower(text(fsys, path.Join(dir, "type")))
		if kind == "instruction" {
			continue
		}
		level, known := number(fsys, path.Join(dir, "level"))
		size := cacheBytes(text(fsys, path.Join(dir, "size")))
		if !known || size == 0 {
			continue
		}
		line, _ := number(fsys, path.Join(dir, "coherency_line_size"))
		out = append(out, Cache{
			Level: int(level), Kind: kind, Bytes: size, Line: int(line),
			Shared: len(ParseList(text(fsys, path.Join(dir, "shared_cpu_list")))),
		})
	}
	slices.SortFunc(out, func(a, b Cache) int { return cmp.Compare(a.Level, b.Level) })
	return out
}

// cacheBytes returns the bytes of a size like "1024K".
func cacheBytes(size string) int64 {
	shift := 0
	switch {
	case strings.HasSuffix(size, "K"):
		shift = 10
	case strings.HasSuffix(size, "M"):
		shift = 20
	}
	n, err := strconv.ParseInt(strings.TrimRight(size, "KM"), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n << shift
}

// ownCaches returns the caches as the processor reports them. It does not report which processors share the last one.
func ownCaches(id cpuid.CPUInfo) []Cache {
	var out []Cache
	for _, c := range []Cache{
		{Level: 1, Kind: "data", Bytes: int64(id.Cache.L1D), Line: id.CacheLine, Shared: id.ThreadsPerCore},
		{Level: 2, Kind: "unified", Bytes: int64(id.Cache.L2), Line: id.CacheLine, Shared: id.ThreadsPerCore},
		{Level: 3, Kind: "unified", Bytes: int64(id.Cache.L3), Line: id.CacheLine},
	} {
		if c.Bytes > 0 {
			out = append(out, c)
		}
	}
	return out
}

// hugePages returns the policy in brackets: "always [madvise] never".
func hugePages(policy string) string {
	_, rest, _ := strings.Cut(policy, "[")
	chosen, _, ok := strings.Cut(rest, "]")
	if !ok {
		return "unknown"
	}
	return chosen
}

// system returns the distribution and the kernel.
func system(fsys fs.FS) string {
	name := runtime.GOOS
	if kernel := text(fsys, "proc/sys/kernel/osrelease"); kernel != "" {
		name = "Linux " + kernel
	}
	for _, file := range []string{"etc/os-release", "usr/lib/os-release"} {
		for line := range strings.Lines(text(fsys, file)) {
			if pretty, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				return strings.Trim(pretty, `"'`) + ", " + name
			}
		}
	}
	return name
}
