package cpu

import (
	"io/fs"
	"reflect"
	"slices"
	"testing"

	"github.com/klauspost/cpuid/v2"
)

// files returns a reader of files with the given contents by name.
func files(contents map[string]string) reader {
	return func(name string) ([]byte, error) {
		content, ok := contents[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(content), nil
	}
}

// server is a host of two sockets, of which the process may use processors 2 and 3, in a control group of version 2.
var server = map[string]string{
	"proc/cpuinfo":     "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some Xeon: 2.0 GHz\n\nprocessor\t: 1\nmodel name\t: other\n",
	"proc/meminfo":     "MemTotal:       16384 kB\nMemFree:         100 kB\nMemAvailable:    8192 kB\n",
	"proc/self/status": "Name:\tgemm\nCpus_allowed:\tc\nCpus_allowed_list:\t2-3\n",
	"proc/self/cgroup": "0::/user/job\n",
	"proc/self/mountinfo": "22 1 0:20 / /sys rw - sysfs sysfs rw\n" +
		"30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
	"proc/sys/kernel/osrelease":                                    "6.1.0-18-amd64\n",
	"etc/os-release":                                               "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
	"sys/kernel/mm/transparent_hugepage/enabled":                   "always [madvise] never\n",
	"sys/devices/system/node/online":                               "0-1\n",
	"sys/devices/system/cpu/online":                                "0-3\n",
	"sys/devices/system/cpu/cpu0/topology/physical_package_id":     "0\n",
	"sys/devices/system/cpu/cpu1/topology/physical_package_id":     "0\n",
	"sys/devices/system/cpu/cpu2/topology/physical_package_id":     "1\n",
	"sys/devices/system/cpu/cpu3/topology/physical_package_id":     "1\n",
	"sys/devices/system/cpu/cpu2/cache/index0/type":                "Data\n",
	"sys/devices/system/cpu/cpu2/cache/index0/level":               "1\n",
	"sys/devices/system/cpu/cpu2/cache/index0/size":                "48K\n",
	"sys/devices/system/cpu/cpu2/cache/index0/coherency_line_size": "64\n",
	"sys/devices/system/cpu/cpu2/cache/index0/shared_cpu_list":     "2,4\n",
	"sys/devices/system/cpu/cpu2/cache/index1/type":                "Instruction\n",
	"sys/devices/system/cpu/cpu2/cache/index1/level":               "1\n",
	"sys/devices/system/cpu/cpu2/cache/index1/size":                "32K\n",
	"sys/devices/system/cpu/cpu2/cache/index3/type":                "Unified\n",
	"sys/devices/system/cpu/cpu2/cache/index3/level":               "3\n",
	"sys/devices/system/cpu/cpu2/cache/index3/size":                "36M\n",
	"sys/devices/system/cpu/cpu2/cache/index3/coherency_line_size": "64\n",
	"sys/devices/system/cpu/cpu2/cache/index3/shared_cpu_list":     "2-3,5-6\n",
	"sys/devices/system/cpu/cpu2/cache/index2/type":                "Unified\n",
	"sys/devices/system/cpu/cpu2/cache/index2/level":               "2\n",
	"sys/devices/system/cpu/cpu2/cache/index2/size":                "2048K\n",
	"sys/devices/system/cpu/cpu2/cache/index2/coherency_line_size": "64\n",
	"sys/devices/system/cpu/cpu2/cache/index2/shared_cpu_list":     "2\n",
	"sys/devices/system/cpu/cpu2/cache/index4/type":                "Unified\n",
	"sys/devices/system/cpu/cpu2/cache/index4/level":               "4\n",
	"sys/devices/system/cpu/cpu2/cache/index4/size":                "unreadable\n",
	"sys/devices/system/cpu/cpu0/cache/index0/type":                "Data\n",
	"sys/devices/system/cpu/cpu0/cache/index0/level":               "1\n",
	"sys/devices/system/cpu/cpu0/cache/index0/size":                "1K\n",
	"sys/fs/cgroup/cpu.max":                                        "800000 100000\n",
	"sys/fs/cgroup/user/cpu.max":                                   "150000 100000\n",
	"sys/fs/cgroup/user/job/cpu.max":                               "max 100000\n",
	"sys/fs/cgroup/user/memory.max":                                "6291456\n",
	"sys/fs/cgroup/user/memory.current":                            "5242880\n",
	"sys/fs/cgroup/user/memory.stat":                               "anon 3145728\ninactive_file 2097152\nactive_file 0\n",
	"sys/fs/cgroup/user/job/memory.max":                            "max\n",
	"sys/fs/cgroup/user/job/memory.current":                        "4194304\n",
	"sys/fs/cgroup/elsewhere/memory.max":                           "1\n",
}

func TestFacts(t *testing.T) {
	got := facts(files(server), 2, cpuid.CPUInfo{BrandName: "not asked for"})
	want := Facts{
		Model: "Some Xeon: 2.0 GHz", Sockets: 2, NUMANodes: 2, Cores: 2, Quota: 1.5,
		Caches: []Cache{{1, "data", 48 << 10, 64, 2}, {2, "unified", 2 << 20, 64, 1}, {3, "unified", 36 << 20, 64, 4}},
		Memory: 16 << 20, MemoryLimit: 6 << 20, HugePages: "madvise",
		OS: "Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("facts are\n%+v, want\n%+v", got, want)
	}
	if got, want := available(files(server)), int64(3<<20); got != want {
		t.Errorf("available are %d bytes, want %d: the limit less what is held and cannot be dropped", got, want)
	}
}

func TestHugePagesPolicy(t *testing.T) {
	for policy, want := range map[string]string{"[always] madvise never": "always", "always madvise [never]": "never",
		"always": "unknown", "[always": "unknown"} {
		if got := hugePages(policy); got != want {
			t.Errorf("%q is the policy %q, want %q", policy, got, want)
		}
	}
}

// TestFactsBare has no file at all, as outside Linux.
func TestFactsBare(t *testing.T) {
	id := cpuid.CPUInfo{BrandName: " Some M1 ", CacheLine: 128, ThreadsPerCore: 1}
	id.Cache.L1D, id.Cache.L2, id.Cache.L3 = 64<<10, 4<<20, -1
	got := facts(files(nil), 8, id)
	if got.Model != "Some M1" || got.Cores != 8 || got.HugePages != "unknown" || got.OS == "" ||
		got.Sockets != 0 || got.NUMANodes != 0 || got.Quota != 0 || got.Memory != 0 || got.MemoryLimit != 0 {
		t.Errorf("facts are %+v", got)
	}
	if want := []Cache{{1, "data", 64 << 10, 128, 1}, {2, "unified", 4 << 20, 128, 1}}; !slices.Equal(got.Caches, want) {
		t.Errorf("caches are %+v, want %+v", got.Caches, want)
	}
	if n := available(files(nil)); n != 0 {
		t.Errorf("available are %d bytes, want 0: nothing is known", n)
	}
}

func TestGroups(t *testing.T) {
	const unified = "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	tests := map[string]struct {
		contents map[string]string
		quota    float64
		limited  int64 // available of 8 MiB
	}{
		"none": {nil, 0, 8 << 20},
		"no limit": {map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": unified,
			"sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/memory.max": "max\n",
		}, 0, 8 << 20},
		"more than the machine has": {map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": unified, "sys/fs/cgroup/memory.max": "1099511627776\n",
		}, 0, 8 << 20},
		"used up": {map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": unified,
			"sys/fs/cgroup/memory.max": "4096\n", "sys/fs/cgroup/memory.current": "8192\n",
		}, 0, 1},
		"malformed": {map[string]string{
			"proc/self/cgroup": "0::/\n0\n", "proc/self/mountinfo": "30 22\n" + unified,
			"sys/fs/cgroup/cpu.max": "many 100000\n", "sys/fs/cgroup/memory.max": "much\n",
		}, 0, 8 << 20},
		"version 1, both on one mount": {map[string]string{
			"proc/self/cgroup": "5:memory:/a\n4:cpu,cpuacct:/a/b\n1:name=systemd:/x\n0::/x\n",
			"proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
				"32 23 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" + unified,
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":     "-1\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":    "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us":   "50000\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us":  "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us": "-1\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "4194304\n",
			"sys/fs/cgroup/memory/a/memory.usage_in_bytes":   "3145728\n",
			"sys/fs/cgroup/memory/a/memory.stat":             "inactive_file 4096\ntotal_inactive_file 1048576\n",
			"sys/fs/cgroup/memory.max":                       "1\n",
		}, 0.5, 2 << 20},
		"a container that sees its own group at the mount point": {map[string]string{
			"proc/self/cgroup":      "0::/\n",
			"proc/self/mountinfo":   "30 22 0:26 /../../outer /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/cpu.max": "300000 100000\n",
		}, 3, 8 << 20},
		"a container that sees the host's path": {map[string]string{
			"proc/self/cgroup":           "0::/docker/123/init\n",
			"proc/self/mountinfo":        "30 22 0:26 /docker/123 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/init/cpu.max": "max 100000\n", "sys/fs/cgroup/cpu.max": "200000 100000\n",
		}, 2, 8 << 20},
		"a name that begins alike": {map[string]string{
			"proc/self/cgroup":      "0::/docker/1234\n",
			"proc/self/mountinfo":   "30 22 0:26 /docker/123 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/cpu.max": "100000 100000\n",
		}, 1, 8 << 20},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			contents := map[string]string{"proc/meminfo": "MemTotal: 16384 kB\nMemAvailable: 8192 kB\n"}
			for file, content := range test.contents {
				contents[file] = content
			}
			if got := quota(files(contents)); got != test.quota {
				t.Errorf("quota is %v, want %v", got, test.quota)
			}
			if got := available(files(contents)); got != test.limited {
				t.Errorf("available are %d bytes, want %d", got, test.limited)
			}
		})
	}
}

// TestHost checks what holds on any host.
func TestHost(t *testing.T) {
	f := Host()
	if f.Model == "" || f.Cores < 1 || f.OS == "" || f.HugePages == "" {
		t.Errorf("the facts lack what every host has: %+v", f)
	}
	for i, c := range f.Caches {
		if c.Bytes <= 0 || i > 0 && c.Level < f.Caches[i-1].Level {
			t.Errorf("cache %d is %+v, after %+v", i, c, f.Caches[:i])
		}
	}
	if n := Available(); n < 0 || f.Memory > 0 && n > f.Memory {
		t.Errorf("%d bytes are available of %d", n, f.Memory)
	}
}
