package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gemm/cuda/explain"
)

// TestOccupancy has kernel 3 of the article on a kernel like cuBLAS: 37 registers on compute capability 8.6.
func TestOccupancy(t *testing.T) {
	got := succeed(t, "", "cuda", "occupancy", "--cc", "8.6", "--threads", "1024", "--regs", "37", "--smem", "8192")
	const want = `compute capability 8.6 (sm_86), 1024 threads, 37 registers a thread, 8192 bytes of shared memory

LIMIT          BLOCKS  A BLOCK TAKES                      A MULTIPROCESSOR HAS
threads        1       32 warps                           48 warps
registers      1       40960, 1280 a warp                 65536, 16384 in each of 4 parts
shared memory  11      9216 bytes, 1024 of them reserved  102400 bytes
blocks         16      1                                  16

blocks     1, limited by threads and registers
warps      32 of 48
occupancy  66.7%
carve-out  16 KiB of shared memory are enough, of 0, 8, 16, 32, 64, 100
`
	if got.stdout != want || got.stderr != "" {
		t.Errorf("%s%s, want\n%s", got.stderr, got.stdout, want)
	}
	for _, spelling := range []string{"sm_86", "86"} {
		if r := succeed(t, "", "cuda", "occupancy", "--cc", spelling, "--threads", "1024", "--regs", "37", "--smem",
			"8KiB"); r.stdout != want {
			t.Errorf("--cc %s --smem 8KiB: %s", spelling, r.stdout)
		}
	}
}

func TestOccupancyNotes(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--cc 8.6 --threads 256 --regs 128 --smem 16KiB",
			[]string{"\nblocks     2, limited by registers\n", "\nwarps      16 of 48\n", "\noccupancy  33.3%\n"}},
		{"--cc 7.5 --threads 256 --regs 128 --smem 16KiB", []string{"\nwarps      16 of 32\n", "\noccupancy  50.0%\n"}},
		{"--cc 7.0 --threads 32 --regs 8",
			[]string{"\nthreads        64        1 warp   ", "\nshared memory  no limit  0 bytes  ", "\ncarve-out  0 KiB"}},
		{"--cc 9.0 --threads 100 --regs 8 --smem 48KiB",
			[]string{"\nnote       the last warp of a block has 4 threads of 32\n"}},
		{"--cc 9.0 --threads 128 --regs 8 --smem 49153",
			[]string{"\nnote       more than 48 KiB a block have to be dynamic"}},
		{"--cc 8.0 --threads 1024 --regs 65", []string{
			"\nblocks     0, limited by registers\n", "\noccupancy  0.0%\n",
			"it cannot be launched: a block has 65536 registers at most, counted for warps in multiples of 4; with 1024 threads, a thread may have 64\n",
		}},
		{"--cc 8.0 --threads 288 --regs 224", []string{"with 288 threads, a thread may have 168\n"}},
	} {
		r := succeed(t, "", append([]string{"cuda", "occupancy"}, strings.Fields(c.args)...)...)
		for _, want := range c.want {
			if !strings.Contains(r.stdout, want) {
				t.Errorf("%s lacks %q:\n%s", c.args, want, r.stdout)
			}
		}
		if notes := strings.Count(r.stdout, "\nnote "); strings.Contains(c.args, "16KiB") && notes > 0 {
			t.Errorf("%s has notes:\n%s", c.args, r.stdout)
		}
	}
}

func TestOccupancySweep(t *testing.T) {
	args := []string{"cuda", "occupancy", "--cc", "8.6", "--threads", "250", "--regs", "127", "--smem", "16384", "--sweep"}
	text := succeed(t, "", args...).stdout
	tables := strings.Split(text, "\nover ")
	if len(tables) != 4 {
		t.Fatalf("%d tables besides the first:\n%s", len(tables)-1, text)
	}
	for i, want := range []struct {
		begin, here string
		steps       int
	}{
		{"threads, with 127 registers a thread and 16384 bytes of shared memory\n",
			"\n256    2       16      33.3% #######               registers  <- 250\n", 32},
		{"registers, with 250 threads and 16384 bytes of shared memory\n",
			"\n128    2       16      33.3% #######               registers  <- 127\n", 32},
		{"shared memory, with 250 threads and 127 registers a thread\n",
			"\n33024   2       16      33.3% #######               registers  <- 16384\n", 3},
	} {
		table := tables[i+1]
		if !strings.HasPrefix(table, want.begin) || !strings.Contains(table, want.here) || strings.Count(table, "<-") != 1 {
			t.Errorf("want %q and %q:\n%s", want.begin, want.here, table)
		}
		if steps := strings.Count(strings.TrimSpace(table), "\n") - 2; steps != want.steps {
			t.Errorf("over %.10s: %d steps, want %d", want.begin, steps, want.steps)
		}
	}
	if strings.Contains(text, " \n") {
		t.Errorf("blanks at the end of a line:\n%q", text)
	}

	var doc explain.OccupancyDocument
	decode(t, succeed(t, "", append(args, "--json", "-")...).stdout, &doc)
	var over []string
	for _, s := range doc.Sweeps {
		over = append(over, string(s.Over))
		here := slices.IndexFunc(s.Steps, func(step explain.SweepStep) bool { return step.Current })
		if here < 0 || s.Steps[here].Blocks != doc.Blocks || s.Steps[here].Warps != doc.Warps ||
			s.Steps[here].Occupancy != doc.Occupancy || !slices.Equal(s.Steps[here].LimitedBy, doc.LimitedBy) {
			t.Errorf("over %s: the kernel is in step %d of %+v", s.Over, here, s.Steps)
		}
	}
	if !slices.Equal(over, []string{"threads", "registers", "shared memory"}) {
		t.Errorf("sweeps over %v", over)
	}
}

func TestOccupancyJSON(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "o.json")
	args := []string{"cuda", "occupancy", "--cc", "sm_75", "--threads", "256", "--regs", "128", "--json", file}
	if r := succeed(t, dir, args...); r.stdout != "" || r.stderr != "" {
		t.Errorf("%+v", r)
	}
	const want = `{"schema":1,"cc":"7.5","threads":256,"regs":128,"smem":0,"limits":[` +
		`{"by":"threads","unit":"warps","takes":8,"has":32,"blocks":4},` +
		`{"by":"registers","unit":"registers","takes":32768,"has":65536,"blocks":2},` +
		`{"by":"shared memory","unit":"bytes","takes":0,"has":65536,"blocks":null},` +
		`{"by":"blocks","unit":"blocks","takes":1,"has":16,"blocks":16}],` +
		`"blocks":2,"limited_by":["registers"],"warps":16,"warps_max":32,"occupancy":0.5,"carveout":32768}`
	if got := strings.Join(strings.Fields(read(t, file)), ""); got != strings.ReplaceAll(want, " ", "") {
		t.Errorf("%s, want %s", got, want)
	}
}
