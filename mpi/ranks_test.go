//go:build mpi

package mpi

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"gemm"
	"gemm/internal/child"
	"gemm/internal/gemmtest"
)

// asRank says that the test binary was started by mpirun, from one of its own tests.
const asRank = "GEMM_TEST_RANK"

// roomy has ranks take it that the host has processors to spare.
const roomy = "GEMM_TEST_ROOMY"

// cramped has ranks take it that there is next to no memory to share.
const cramped = "GEMM_TEST_CRAMPED"

// TestMain runs the tests; a process that mpirun started serves rank 0, which runs those
// that begin with TestRanks.
func TestMain(m *testing.M) {
	if os.Getenv(asRank) == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	err := child.Follow()
	var j *Job
	if err == nil {
		j, err = Start(nil)
	}
	if os.Getenv(cramped) != "" {
		sharedRoom = func() int64 { return 1 << 20 }
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
		err = j.Serve(context.Background())
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

// underMPI runs tests of this binary on so many ranks, and returns what they wrote.
func underMPI(t *testing.T, ranks int, run string, options ...string) string {
	t.Helper()
	return gemmtest.Mpirun(t, asRank, ranks, run, options...)
}

// TestConformance runs the conformance suite on every number of ranks up to 9; in short
// tests, which look for what the others cannot find, on two.
func TestConformance(t *testing.T) {
	for ranks := 1; ranks <= 9; ranks++ {
		if testing.Short() && ranks != 2 {
			continue
		}
		t.Run(fmt.Sprint(ranks), func(t *testing.T) { underMPI(t, ranks, "^TestRanksConform$") })
	}
}

// TestRanksConform is what rank 0 runs: everything on one rank, but for short tests; on two,
// where messages take long, every variant with every setting, each with an element type of
// its own; on more a third of the variants, each with one setting and one element type, which
// change with the ranks.
func TestRanksConform(t *testing.T) {
	forRank0(t)
	ranks := theJob.Size()
	s := gemmtest.Suite{OneCall: ranks > 1}
	for i, v := range Variants() {
		t.Run(v.Name, func(t *testing.T) {
			switch all, turn := settings(v), (i+ranks)/3; {
			case ranks == 1 && !testing.Short():
				s.Run(t, v, all...)
			case ranks == 2 && !testing.Short():
				for j, p := range all {
					s.Run(t, ofType(v, i+j), p)
				}
			case (i+ranks)%3 == 0 || testing.Short():
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
