package shard

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestKill9 kills a process that encodes and repairs, again and again: whatever then has
// the name of a shard is whole, and the next encoding takes away the rest.
func TestKill9(t *testing.T) {
	const variable = "GEMM_TEST_SHARDS"
	if top := os.Getenv(variable); top != "" {
		encodeForKill(t, top)
		return
	}
	top := t.TempDir()
	dir := filepath.Join(top, "shards")
	file := write(t, top, "file", random(3<<20, 1))
	c := newCoder(t)
	whole, unfinished := 0, 0
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill9$")
		cmd.Env = append(os.Environ(), variable+"="+top)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+r.IntN(150)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatalf("the process ended before it was killed: %v", err)
		}
		_ = cmd.Wait()
		if _, err := os.Stat(dir); err != nil {
			continue // killed before it began
		}
		all, err := find(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			state, reason := f.state, f.reason
			if state == Good {
				state, reason = (&Report{Dir: dir}).check(t.Context(), f, c.meter("", 0))
			}
			if state != Good {
				t.Errorf("%s is %s: %s", f.name, state, reason)
			}
			whole++
		}
		unfinished += len(names(t, dir)) - len(all)
		if restored, err := os.ReadFile(filepath.Join(top, "restored")); err == nil && !bytes.Equal(restored, read(t, file)) {
			t.Error("a file that was not restored to its end has its name")
		}
	}
	if whole == 0 || unfinished == 0 {
		t.Fatalf("%d whole shards and %d temporary files: killed too early or too late", whole, unfinished)
	}
	if _, err := c.Encode(context.Background(), killedEncoding(top)); err != nil {
		t.Fatal(err)
	}
	if left := names(t, dir); len(left) != 6 {
		t.Errorf("the next encoding leaves %v", left)
	}
	if _, err := c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: filepath.Join(top, "restored"), Force: true}); err != nil {
		t.Fatal(err)
	}
	if left := names(t, top); len(left) != 3 {
		t.Errorf("the next reconstruction leaves %v", left)
	}
}

func killedEncoding(top string) Encoding {
	return Encoding{File: filepath.Join(top, "file"), Dir: filepath.Join(top, "shards"), Data: 4, Parity: 2, Matrix: Vandermonde, Force: true}
}

// encodeForKill is the process that is killed.
func encodeForKill(t *testing.T, top string) {
	c := newCoder(t)
	c.buffer = 1 << 20
	e := killedEncoding(top)
	for i := 0; ; i++ {
		if _, err := c.Encode(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(e.Dir, Name(i%6))); err != nil {
			t.Fatal(err)
		}
		rec := Reconstruction{Dir: e.Dir, File: filepath.Join(top, "restored"), Repair: true, Force: true}
		if _, err := c.Reconstruct(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
}
