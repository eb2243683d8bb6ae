package shard

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestKill9 repeatedly kills a process that encodes and repairs. Every file with the name of a shard
// must then be complete, and the next encoding must remove all other files of the process.
func TestKill9(t *testing.T) {
	const variable = "GEMM_TEST_SHARDS"
	if top := os.Getenv(variable); top != "" {
		c := newCoder(t)
		c.buffer = 1 << 20
		fmt.Println("begins")
		for turn := 0; ; turn++ {
			codeForKill(t, c, top, turn)
		}
	}
	top := t.TempDir()
	dir := filepath.Join(top, "shards")
	file := write(t, top, "file", random(3<<20, 1))
	c := newCoder(t)
	c.buffer = 1 << 20
	start := time.Now()
	codeForKill(t, c, top, 0)
	turn := time.Since(start)
	whole, unfinished, restored := 0, 0, filepath.Join(top, "restored")
	r := rand.New(rand.NewPCG(1, 2))
	attempts := 40
	if testing.Short() {
		attempts = 8
	}
	for range attempts {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill9$")
		cmd.Env = append(os.Environ(), variable+"="+top)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 1)); err != nil { // it begins
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.Int64N(int64(turn * 3 / 2))))
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); cmd.ProcessState.Exited() {
			t.Fatalf("the process ended by itself: %v", err)
		}
		all, err := find(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.state == Good {
				(&Report{Dir: dir}).check(t.Context(), &f, c.meter("", 0))
			}
			if f.state != Good {
				t.Errorf("%s is %s: %s", f.name, f.state, f.reason)
			}
			whole++
		}
		unfinished += len(names(t, dir)) - len(all)
		if !bytes.Equal(read(t, restored), read(t, file)) {
			t.Error("a file that was not restored to its end has its name")
		}
	}
	if whole == 0 || unfinished == 0 {
		t.Fatalf("%d whole shards and %d temporary files: killed too early or too late", whole, unfinished)
	}
	if _, err := c.Encode(t.Context(), killedEncoding(top)); err != nil {
		t.Fatal(err)
	}
	if left := names(t, dir); len(left) != 6 {
		t.Errorf("the next encoding leaves %v", left)
	}
	if _, err := c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: restored, Force: true}); err != nil {
		t.Fatal(err)
	}
	if left := names(t, top); len(left) != 3 {
		t.Errorf("the next reconstruction leaves %v", left)
	}
}

func killedEncoding(top string) Encoding {
	return Encoding{File: filepath.Join(top, "file"), Dir: filepath.Join(top, "shards"), Data: 4, Parity: 2,
		Matrix: Vandermonde, Force: true}
}

// codeForKill encodes, loses a shard and brings it and the file back.
func codeForKill(t *testing.T, c *Coder, top string, turn int) {
	e := killedEncoding(top)
	if _, err := c.Encode(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(e.Dir, Name(turn%6))); err != nil {
		t.Fatal(err)
	}
	rec := Reconstruction{Dir: e.Dir, File: filepath.Join(top, "restored"), Repair: true, Force: true}
	if _, err := c.Reconstruct(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
}
