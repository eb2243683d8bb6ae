package cpu

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// group is a control group that limits this process: its folder and the version of its files.
type group struct {
	dir string
	v2  bool
}

// groups returns the control groups of this process for a controller (cpu, memory), from its own
// group up to the root of the mounted tree. Each of them is a limit. If there is a hierarchy of
// version 1 for the controller, it is that, otherwise the unified hierarchy (cgroups(7)).
func groups(files reader, controller string) []group {
	var own string
	var found, v2 bool
	for line := range strings.Lines(text(files, "proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case slices.Contains(strings.Split(parts[1], ","), controller):
			own, found, v2 = parts[2], true, false
		case parts[0] == "0" && parts[1] == "" && !found:
			own, found, v2 = parts[2], true, true
		}
		if found && !v2 {
			break
		}
	}
	if !found {
		return nil
	}
	root, point, ok := mount(files, controller, v2)
	if !ok {
		return nil
	}
	// A path outside of the mounted tree belongs to a container that sees only its own group, at the mount point.
	inside, below := strings.CutPrefix(path.Clean("/"+own), strings.TrimSuffix(root, "/"))
	if !below || inside != "" && inside[0] != '/' {
		inside = ""
	}
	top := strings.TrimPrefix(path.Clean(point), "/")
	var out []group
	for dir := path.Join(top, inside); ; dir = path.Dir(dir) {
		out = append(out, group{dir, v2})
		if dir == top || dir == "." {
			return out
		}
	}
}

// mount returns the group that is mounted for the controller and its mount point (proc_pid_mountinfo(5)).
func mount(files reader, controller string, v2 bool) (root, point string, ok bool) {
	for line := range strings.Lines(text(files, "proc/self/mountinfo")) {
		of, what, _ := strings.Cut(line, " - ")
		place, kind := strings.Fields(of), strings.Fields(what)
		if len(place) < 5 || len(kind) < 3 {
			continue
		}
		if v2 && kind[0] == "cgroup2" || !v2 && kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","),
			controller) {
			return place[3], place[4], true
		}
	}
	return "", "", false
}

// quota returns the CPU time that the control groups grant, in processors; 0 if there is no limit.
func quota(files reader) float64 {
	least := math.Inf(1)
	for _, g := range groups(files, "cpu") {
		var granted, period string
		if g.v2 {
			granted, period, _ = strings.Cut(text(files, path.Join(g.dir, "cpu.max")), " ")
		} else {
			granted = text(files, path.Join(g.dir, "cpu.cfs_quota_us"))
			period = text(files, path.Join(g.dir, "cpu.cfs_period_us"))
		}
		// No limit is "max" in version 2 and -1 in version 1.
		q, err := strconv.ParseFloat(granted, 64)
		p, err2 := strconv.ParseFloat(period, 64)
		if err == nil && err2 == nil && q > 0 && p > 0 {
			least = min(least, q/p)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// memory returns the least memory limit of the control groups, and the least number of bytes that one of them has left.
// Both are math.MaxInt64 if there is no limit. File pages that a group has not used recently can be
// dropped, so they count as left.
func memory(files reader) (limit, left int64) {
	limit, left = math.MaxInt64, math.MaxInt64
	for _, g := range groups(files, "memory") {
		max, used, dropped := "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
		if g.v2 {
			max, used, dropped = "memory.max", "memory.current", "inactive_file"
		}
		// No limit is "max" in version 2 and a number near 2⁶³ in version 1.
		granted, ok := number(files, path.Join(g.dir, max))
		if !ok {
			continue
		}
		limit = min(limit, granted)
		held, _ := number(files, path.Join(g.dir, used))
		for line := range strings.Lines(text(files, path.Join(g.dir, "memory.stat"))) {
			if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == dropped {
				files, _ := strconv.ParseInt(value, 10, 64)
				held -= files
			}
		}
		left = min(left, granted-held)
	}
	return limit, left
}

// available returns the bytes that the machine and the control groups have left, at least one; 0 if nothing is known.
func available(files reader) int64 {
	free := kibibytes(field(files, "proc/meminfo", "MemAvailable"))
	if _, left := memory(files); free == 0 || left < free {
		if left == math.MaxInt64 {
			return 0
		}
		return max(left, 1)
	}
	return free
}
