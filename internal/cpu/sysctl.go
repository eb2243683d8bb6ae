package cpu

import (
	"cmp"
	"fmt"
	"io/fs"
	"strconv"
)

// sysctlFiles returns what macOS knows of a host, as the files of a Linux file system. value returns a variable of
// sysctl; empty if there is none. macOS has no numbers of processors: performance cores come first here.
func sysctlFiles(value func(name string) string) reader {
	n := func(name string) int {
		n, _ := strconv.Atoi(value(name))
		return n
	}
	files := map[string]string{
		"proc/cpuinfo":   "model name: " + value("machdep.cpu.brand_string"),
		"proc/meminfo":   fmt.Sprintf("MemTotal: %d kB", n("hw.memsize")>>10),
		"etc/os-release": "PRETTY_NAME=macOS " + value("kern.osproductversion"),
	}
	kinds := n("hw.nperflevels")
	processors := 0
	for kind := range max(kinds, 1) {
		level := "hw."
		if kinds > 0 {
			level = fmt.Sprintf("hw.perflevel%d.", kind)
		}
		first, count := processors, n(level+"logicalcpu")
		processors += count
		threads := max(count/max(n(level+"physicalcpu"), 1), 1)
		// shared returns the processors of this kind that share something with the processor, n each.
		shared := func(id, n int) string {
			from := first + (id-first)/n*n
			return fmt.Sprintf("%d-%d", from, min(from+n, first+count)-1)
		}
		for id := first; id < first+count; id++ {
			dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", id)
			files[dir+"topology/physical_package_id"] = "0"
			files[dir+"topology/thread_siblings_list"] = shared(id, threads)
			index := 0
			for _, c := range []struct {
				level, kind, bytes string
				sharers            int
			}{
				{"1", "Data", "l1dcachesize", threads},
				{"2", "Unified", "l2cachesize", cmp.Or(n(level+"cpusperl2"), threads)},
				{"3", "Unified", "l3cachesize", cmp.Or(n(level+"cpusperl3"), count)},
			} {
				if n(level+c.bytes) > 0 {
					cache := fmt.Sprintf("%scache/index%d/", dir, index)
					index++
					files[cache+"level"], files[cache+"type"], files[cache+"size"] = c.level, c.kind, value(level+c.bytes)
					files[cache+"coherency_line_size"] = value("hw.cachelinesize")
					files[cache+"shared_cpu_list"] = shared(id, c.sharers)
				}
			}
		}
		if name := []string{"core", "atom", "lowpower"}[min(kind, 2)]; kinds > 1 && count > 0 {
			files["sys/devices/cpu_"+name+"/cpus"] = shared(first, count)
		}
	}
	if processors > 0 {
		files["sys/devices/system/cpu/online"] = fmt.Sprintf("0-%d", processors-1)
	}
	return func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
}
