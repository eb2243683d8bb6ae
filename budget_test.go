package gemm_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The budget of the tree: a large one takes long to clone and to search.
const (
	mostTree    = 12e6 // bytes of all files
	mostFile    = 400e3
	mostFiles   = 20 // Go files of a package, without tests
	mostTargets = 30 // of make help
	mostLines   = 2500
)

// tree returns the sizes of the files that git has or would add. Without git, of all files.
func tree(t *testing.T) map[string]int64 {
	t.Helper()
	sizes := map[string]int64{}
	var names []string
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if out, err := cmd.Output(); err == nil {
		names = strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	} else {
		names = files(t, func(string) bool { return true })
	}
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && !info.IsDir() { // git lists what has been removed
			sizes[name] = info.Size()
		}
	}
	return sizes
}

// faults returns what is over the budget in files with their sizes, targets and lines of scripts, and what to do.
func faults(sizes map[string]int64, targets, lines int) (list []string) {
	total := int64(0)
	packages := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		total += sizes[name]
		if sizes[name] > mostFile {
			list = append(list, fmt.Sprintf("%s has %d bytes, the limit is %g: pack records (results/README.md), show fewer"+
				" figures (cmd/pages), have a generator write several files, or assert values in place of a golden",
				name, sizes[name], mostFile))
		}
		if goFile(name) && !strings.HasSuffix(name, "_test.go") {
			packages[path.Dir(name)]++
		}
	}
	if total > mostTree {
		byFolder := map[string]int64{}
		for name, size := range sizes {
			folder, _, _ := strings.Cut(name, "/")
			byFolder[folder] += size
		}
		largest := slices.SortedFunc(maps.Keys(byFolder), func(a, b string) int { return int(byFolder[b] - byFolder[a]) })
		list = append(list, fmt.Sprintf("the tree has %d bytes, the limit is %g: the largest folders are %s; remove what no"+
			" page, test or program needs", total, mostTree, strings.Join(largest[:min(4, len(largest))], ", ")))
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if packages[name] > mostFiles {
			list = append(list, fmt.Sprintf("package %s has %d Go files without its tests, the limit is %d: a package has one"+
				" subject, so move one out of it", name, packages[name], mostFiles))
		}
	}
	if targets > mostTargets {
		list = append(list, fmt.Sprintf("make help lists %d targets, the limit is %d: a check for developers is part of"+
			" make slow-tests, with a name for ONLY", targets, mostTargets))
	}
	if lines > mostLines {
		list = append(list, fmt.Sprintf("scripts and .ci/run have %d lines, the limit is %d: remove what a test asserts,"+
			" or write it in Go", lines, mostLines))
	}
	return list
}

// TestBudget keeps the tree small.
func TestBudget(t *testing.T) {
	sizes := tree(t)
	lines := 0
	for name := range sizes {
		if strings.HasPrefix(name, "scripts/") || strings.HasPrefix(name, ".ci/") {
			lines += strings.Count(read(t, name), "\n")
		}
	}
	targets := len(regexp.MustCompile(`(?m)^[a-z0-9-]+:.*## `).FindAllString(read(t, "Makefile"), -1))
	if len(sizes) < 500 || lines < 500 || targets < 10 {
		t.Fatalf("%d files, %d lines of scripts, %d targets: the test looks in the wrong place", len(sizes), lines, targets)
	}
	for _, fault := range faults(sizes, targets, lines) {
		t.Error(fault)
	}
}

// TestBudgetFaults plants a tree at the limits, and what is over each.
func TestBudgetFaults(t *testing.T) {
	plant := func(add map[string]int64) map[string]int64 {
		sizes := map[string]int64{"docs/a.md": mostFile, "p/x_test.go": 1}
		for i := range mostFiles {
			sizes[fmt.Sprintf("p/%d.go", i)] = 1
		}
		maps.Copy(sizes, add)
		return sizes
	}
	many := map[string]int64{}
	for i := range 31 {
		many[fmt.Sprintf("results/%d.json.gz", i)] = mostFile
	}
	for want, test := range map[string]struct {
		add            map[string]int64
		targets, lines int
	}{
		"":                                  {nil, mostTargets, mostLines},
		"docs/b.svg has 400001 bytes":       {map[string]int64{"docs/b.svg": mostFile + 1}, 0, 0},
		"the largest folders are results, ": {many, 0, 0},
		"package p has 21 Go files":         {map[string]int64{"p/more.go": 1}, 0, 0},
		"make help lists 31 targets":        {nil, mostTargets + 1, 0},
		"have 2501 lines":                   {nil, 0, mostLines + 1},
	} {
		got := faults(plant(test.add), test.targets, test.lines)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("got %q, want one on %q", got, want)
		}
	}
}
