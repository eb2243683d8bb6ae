//go:build mpi

package comm

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gemm/internal/cpu"
)

// sleeps returns how often a thread of this host has given its processor up, by the name of its file in /proc.
func sleeps(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	must("/proc", err)
	_, after, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
	line, _, _ := strings.Cut(after, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(line))
	must(file, err)
	return n
}

// TestRanksYield has rank 0 come to calls when all others have waited in them, and given up their processor.
func TestRanksYield(t *testing.T) {
	ranks(t)
	if processors := len(cpu.Places()); !strings.HasPrefix(Version(), "MPICH") || processors == 0 ||
		all.Size() <= processors && os.Getenv(yieldVariable) == "" {
		t.Skip("for ranks of MPICH that share processors")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	files, err := all.GatherBytes(fmt.Appendf(nil, "/proc/%d/task/%d/status", os.Getpid(), syscall.Gettid()))
	must("GatherBytes", err)
	late := func(name string, call func() error) {
		t.Helper()
		for r := 1; r < len(files); r++ {
			begun, before := time.Now(), sleeps(t, string(files[r]))
			for sleeps(t, string(files[r])) < before+10 {
				if time.Since(begun) > time.Minute {
					must(name, fmt.Errorf("rank %d keeps its processor while it waits", r))
				}
				time.Sleep(time.Millisecond)
			}
		}
		must(name, call())
	}

	x := doubles.filled(3, 4, 0, from(0, 0))
	one := func(there, here func(r int) error) func() error { // messages of rank 0 with each other rank
		return func() error {
			if all.Rank() > 0 {
				return there(0)
			}
			for r := 1; r < all.Size(); r++ {
				if err := here(r); err != nil {
					return err
				}
			}
			return nil
		}
	}
	send := func(r int) error { return Send(all, x, r, 1) }
	var shared *Shared
	late("Barrier", all.Barrier)
	late("Max", func() error { _, err := all.Max(1); return err })
	late("Bcast", func() error { return Bcast(all, x, 0) })
	late("Recv", one(func(r int) error { return Recv(all, x, r, 1) }, send))
	late("Wait", one(func(r int) error {
		request, err := Irecv(all, x, r, 1)
		must("Irecv", err)
		return request.Wait()
	}, send))
	late("Split", func() error { _, err := all.Split(0, 0); return err })
	late("Share", func() (err error) { shared, err = all.Share(1); return err })
	late("Free", func() error { return shared.Free() })
}
