//go:build mpi

package mpi

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/ipc"
	"gemm/internal/kernel"
	"gemm/internal/tuned"
	"gemm/mpi/comm"
	"gemm/mpi/launch"
)

// asRank says that the test binary was started by mpirun, from one of its own tests.
const asRank = "GEMM_TEST_RANK"

// roomy has ranks take it that the host has processors to spare.
const roomy = "GEMM_TEST_ROOMY"

// cramped has ranks take it that there is next to no memory to share.
const cramped = "GEMM_TEST_CRAMPED"

// apart has all ranks but the first two read clocks of their own, which are far ahead.
const apart = "GEMM_TEST_APART"

// several has the ranks of this host be on that number of hosts, one rank after the other.
const several = "GEMM_TEST_HOSTS"

// graceful has ranks that wait for too long end soon.
const graceful = "GEMM_TEST_GRACE"

// halves is the size from which ranks halve products by Strassen's algorithm.
const halves = pieceCols + 10

// TestMain runs the tests; a process that mpirun started serves rank 0, which runs those
// that begin with TestRanks.
func TestMain(m *testing.M) {
	if os.Getenv(fakeGPU) != "" {
		if err := serveFakeGPU(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(asRank) == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	err := ipc.DieWithParent()
	var j *Job
	if err == nil {
		j, err = Start(nil)
	}
	// All ranks halve products that are large enough for the test of it, and larger than pieceCols.
	tuned.Use(tuned.Settings{}.With(tuned.Tune{Type: "f64", Kernel: kernel.Best[float64]().Name,
		Values: tuned.Values{Cutoff: halves}}))
	if err == nil && os.Getenv(graceful) != "" {
		j.watch.grace = 50 * time.Millisecond
	}
	if n, _ := strconv.Atoi(os.Getenv(several)); err == nil && n > 0 {
		for r := range j.hosts {
			j.hosts[r] = r % n
		}
		j.host, err = j.control.Split(j.hosts[j.Rank()], j.Rank())
	}
	if err == nil && os.Getenv(cramped) != "" {
		j.shm = func() int64 { return 1 << 20 }
	}
	if err == nil && os.Getenv(apart) != "" {
		for r := 2; r < j.Size(); r++ {
			j.peers[r].Clock = fmt.Sprint("clock ", r)
		}
		if j.Rank() > 1 {
			j.now = func() float64 { return comm.Now() + 1000*float64(j.Rank()) }
		}
	}
	if err == nil && os.Getenv(roomy) != "" {
		// Threads of a rank share a processor then.
		for r := range j.peers {
			j.peers[r].CPUs = slices.Repeat(j.peers[r].CPUs, 2*j.Size())
		}
		j.mask = j.peers[j.Rank()].CPUs
		if len(j.mask) > 0 { // where processors are known
			j.share = slices.Repeat(j.mask[j.Rank():][:1], 2)
		}
	}
	if err == nil && j.Rank() > 0 {
		err = j.Serve(context.Background(), func(reason string) {
			fmt.Fprintln(os.Stderr, reason)
			os.Exit(1)
		})
	} else if err == nil {
		status := m.Run()
		if err = j.Close(); err == nil {
			os.Exit(status)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// ofRanks is how ranks are started.
var ofRanks = gemmtest.Job{AsRank: asRank, Library: Version()}

// underMPI runs tests of this binary on that many ranks with the variables, and returns their output.
func underMPI(t *testing.T, ranks int, run string, variables ...string) string {
	t.Helper()
	return gemmtest.Mpirun(t, ofRanks, ranks, run, variables...)
}

// forOpenMPI skips a test that sets parameters of Open MPI if this is another one.
func forOpenMPI(t *testing.T) {
	t.Helper()
	if launch.Of(Version()).Family != launch.OpenMPI {
		t.Skip("for Open MPI")
	}
}

// everything says whether the conformance suite runs with every setting of each variant on one rank, and on 5 and 7 to
// 9 ranks too, as make slow-tests does.
var everything = os.Getenv("GEMM_TEST_CONFORMANCE") == "all"

// TestConformance runs the conformance suite on 1 to 4 and on 6 ranks, or on those that everything adds; with -short
// on 2 and 4 only.
func TestConformance(t *testing.T) {
	for ranks := 1; ranks <= 9; ranks++ {
		if testing.Short() && ranks != 2 && ranks != 4 || !everything && (ranks == 5 || ranks > 6) {
			continue
		}
		t.Run(fmt.Sprint(ranks), func(t *testing.T) { underMPI(t, ranks, "^TestRanksConform$") })
	}
}

// TestRanksConform is the part that rank 0 runs. The work depends on the number of ranks:
//
//	ranks   variants   settings   element types
//	1       all        one        one; with everything all settings and types
//	2       all        all        one a setting
//	3–9     a third    one        one
//	-short  all        one        one; on 4 ranks a third of the variants
func TestRanksConform(t *testing.T) {
	forRank0(t)
	ranks := theJob.Size()
	s := gemmtest.Suite{OneCall: ranks > 1}
	for i, v := range Variants() {
		t.Run(v.Name, func(t *testing.T) {
			switch all, turn := settings(v), (i+ranks)/3; {
			case ranks == 1 && everything:
				s.Run(t, v, all...)
			case ranks == 2 && !testing.Short():
				for j, p := range all {
					s.Run(t, ofType(v, i+j), p)
				}
			case (i+ranks/2)%3 == 0 || ranks <= 2:
				s.Run(t, ofType(v, turn), all[turn%len(all)])
			default:
				t.Skip("not its turn")
			}
		})
	}
}

// ofType returns the variant with one of its element types.
func ofType(v gemm.Variant, i int) gemm.Variant {
	switch i % 3 {
	case 0:
		v.F32, v.GF256 = nil, nil
	case 1:
		v.F64, v.GF256 = nil, nil
	case 2:
		v.F64, v.F32 = nil, nil
	}
	return v
}

// settings returns the parameters that a variant is tested with: the defaults, and small
// panels and the other ways to share out the work.
func settings(v gemm.Variant) []gemm.Params {
	other := gemm.Params{"affinity": none}
	for _, q := range v.Params {
		switch q.Name {
		case "panel":
			other["panel"] = 3
		case "master":
			other["master"] = works
		case "replication":
			other["replication"] = 2
		case "schedule":
			other["schedule"] = static
		case "local":
			other["local"] = "serial/naive"
		}
	}
	return []gemm.Params{nil, other}
}

// TestLimit checks that ranks that receive nothing from rank 0, or wait for it in a product, end
// themselves, and not before the limit.
func TestLimit(t *testing.T) {
	for run, want := range map[string]string{
		"Silent": "rank 1 ends itself: a command of rank 0 takes longer than the limit of 20ms and 50ms of grace",
		"Absent": "rank 1 ends itself: multiply takes longer than the limit of 20ms and 50ms of grace",
	} {
		t.Run(run, func(t *testing.T) {
			out, err := gemmtest.MpirunStatus(t, ofRanks, 2, "^TestRanks"+run+"$", graceful+"=yes")
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("the ranks end with %v, want one that says %q:\n%s", err, want, out)
			}
		})
	}
	underMPI(t, 2, "^TestRanksLimited$")
}

// limitAll sets a limit of all ranks.
func limitAll(t *testing.T, limit time.Duration) {
	t.Helper()
	forRank0(t)
	gemmtest.Must(t, theJob.Limit(limit, func(reason string) { panic(reason) }))
}

// TestRanksSilent lets the other rank wait until that one has mpirun end this one.
func TestRanksSilent(t *testing.T) {
	limitAll(t, 20*time.Millisecond)
	select {}
}

// TestRanksAbsent lets the other rank wait in a product.
func TestRanksAbsent(t *testing.T) {
	limitAll(t, 20*time.Millisecond)
	r := staging(t, named(t, "mpi/summa"), nil, newOperands[float64](10, 10, 10, 0)).(*leader[float64])
	gemmtest.Must(t, theJob.broadcast(command{Do: doMultiply, Run: r.number}))
	select {}
}

// TestRanksLimited has a product of ranks with a limit, and no limit after it.
func TestRanksLimited(t *testing.T) {
	limitAll(t, time.Minute)
	multiplied(t, named(t, "mpi/summa"), nil, newOperands[float64](30, 20, 10, 1))
	limitAll(t, 0)
	multiplied(t, named(t, "mpi/summa"), nil, newOperands[float64](30, 20, 10, 1))
}

// TestWatched: rank 0 watches the other hosts, and the first rank of each of them the host of rank 0.
func TestWatched(t *testing.T) {
	peers := []identity{{Host: "a", Addresses: []string{"1"}}, {Host: "b", Addresses: []string{"2"}},
		{Host: "a", Addresses: []string{"1"}},
		{Host: "b", Addresses: []string{"2"}}, {Host: "c", Addresses: []string{"3"}}}
	for rank, want := range []string{"map[b:[2] c:[3]]", "map[a:[1]]", "map[]", "map[]", "map[a:[1]]"} {
		if got := fmt.Sprint(watched(peers, rank)); got != want {
			t.Errorf("rank %d watches %s, want %s", rank, got, want)
		}
	}
}
