package cpu

import (
	"cmp"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// Facts describes a host. Unknown values are zero or empty. Outside of Linux and macOS only the model, the
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
	return facts(root, runtime.NumCPU(), cpuid.CPU)
}

// Caches returns the caches of Facts alone. It takes less time and code than Host.
func Caches() []Cache { return firstCaches(root, cpuid.CPU) }

// Quota returns the Quota of Facts alone.
func Quota() float64 { return quota(root) }

// Available returns the memory in bytes that this process can still allocate without swapping and
// within the limit of its control group. It is 0 if that is not known.
func Available() int64 {
	return available(root)
}

// facts reads the facts from files, the root of a Linux file system. What the files do
// not have comes from the processor itself.
func facts(files reader, cores int, id cpuid.CPUInfo) Facts {
	f := Facts{
		Model:     cmp.Or(field(files, "proc/cpuinfo", "model name"), strings.TrimSpace(id.BrandName), runtime.GOARCH),
		Sockets:   sockets(files),
		NUMANodes: len(ParseList(text(files, "sys/devices/system/node/online"))),
		Cores:     cores,
		Quota:     quota(files),
		Caches:    firstCaches(files, id),
		Memory:    kibibytes(field(files, "proc/meminfo", "MemTotal")),
		HugePages: hugePages(text(files, "sys/kernel/mm/transparent_hugepage/enabled")),
		OS:        system(files),
	}
	if limit, _ := memory(files); limit < f.Memory {
		f.MemoryLimit = limit
	}
	return f
}

// reader returns the contents of a file of a Linux file system, whose name has no slash at the front.
type reader func(name string) ([]byte, error)

// text returns the contents of a file without white space around them, or "" if it cannot be read.
func text(files reader, name string) string {
	data, err := files(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func number(files reader, name string) (int64, bool) {
	n, err := strconv.ParseInt(text(files, name), 10, 64)
	return n, err == nil
}

// field returns the value of the first line "key: value" of a file.
func field(files reader, name, key string) string {
	for line := range strings.Lines(text(files, name)) {
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

// sockets counts the packages of the online processors.
func sockets(files reader) int {
	packages := map[int64]bool{}
	for _, id := range ParseList(text(files, "sys/devices/system/cpu/online")) {
		if n, ok := number(files, fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/physical_package_id", id)); ok {
			packages[n] = true
		}
	}
	return len(packages)
}

// firstCaches returns the caches of the first processor that this process may run on.
func firstCaches(files reader, id cpuid.CPUInfo) []Cache {
	first := 0
	if allowed := ParseList(field(files, "proc/self/status", "Cpus_allowed_list")); len(allowed) > 0 {
		first = allowed[0]
	}
	var out []Cache
	for _, c := range caches(files, first) {
		if c.Bytes > 0 {
			out = append(out, c.Cache)
		}
	}
	if len(out) > 0 {
		return out
	}
	return ownCaches(id)
}

// cacheFile is a cache as the files of one processor have it.
type cacheFile struct {
	Cache
	set []int // the processors that share it
}

// caches returns the data and unified caches of one processor whose levels are known.
func caches(files reader, processor int) []cacheFile {
	var out []cacheFile
	for i := 0; ; i++ {
		dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/cache/index%d", processor, i)
		read := func(name string) string { return text(files, path.Join(dir, name)) }
		if read("level") == "" {
			break
		}
		level, err := strconv.Atoi(read("level"))
		kind := strings.ToLower(read("type"))
		if err != nil || kind == "instruction" {
			continue
		}
		line, _ := strconv.Atoi(read("coherency_line_size"))
		set := ParseList(read("shared_cpu_list"))
		out = append(out, cacheFile{Cache{level, kind, cacheBytes(read("size")), line, len(set)}, set})
	}
	slices.SortStableFunc(out, func(a, b cacheFile) int { return cmp.Compare(a.Level, b.Level) })
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

func system(files reader) string {
	name := runtime.GOOS
	if kernel := text(files, "proc/sys/kernel/osrelease"); kernel != "" {
		name = "Linux " + kernel
	}
	for _, file := range []string{"etc/os-release", "usr/lib/os-release"} {
		for line := range strings.Lines(text(files, file)) {
			if pretty, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				return strings.Trim(pretty, `"'`) + ", " + name
			}
		}
	}
	return name
}
