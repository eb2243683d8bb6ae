package shard

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gemm/gemmtest"
	"gemm/internal/output"
)

// TestKill9 repeatedly kills a process that encodes, protects and repairs. Every file with the name of a shard
// must then be complete, a protected file must be as it was or as it was damaged, and the next call must
// remove all other files of the process.
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
	kept := write(t, top, "kept", read(t, file))
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
		gemmtest.Must(t, err)
		gemmtest.Must(t, cmd.Start())
		if _, err := stdout.Read(make([]byte, 1)); err != nil { // it begins
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.Int64N(int64(turn * 3 / 2))))
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); cmd.ProcessState.Exited() {
			t.Fatalf("the process ended by itself: %v", err)
		}
		if !bytes.Equal(read(t, restored), read(t, file)) {
			t.Error("a file that was not restored to its end has its name")
		}
		if differences(read(t, kept), read(t, file)) > 1 {
			t.Error("a protected file is neither what it was nor what it was before its repair")
		}
		for most, dir := range []string{dir, ParityFolder(kept, "")} { // the test damages a block of the parity
			n, others := wholeShards(t, c, dir, int64(most))
			whole += n
			unfinished += others
		}
	}
	if whole == 0 || unfinished == 0 {
		t.Fatalf("%d whole shards and %d temporary files: killed too early or too late", whole, unfinished)
	}
	gemmtest.Must(t, failure(c.Encode(t.Context(), killedEncoding(top))))
	if left := names(t, dir); len(left) != 6 {
		t.Errorf("the next encoding leaves %v", left)
	}
	gemmtest.Must(t, failure(c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: restored, Force: true})))
	protectForKill(t, c, top, 1)
	if left := names(t, ParityFolder(kept, "")); len(left) != 2 {
		t.Errorf("the next protection and repair leave %v", left)
	}
	if left := names(t, top); len(left) != 5 {
		t.Errorf("the next calls leave %v", left)
	}
}

func killedEncoding(top string) Encoding {
	return Encoding{File: filepath.Join(top, "file"), Dir: filepath.Join(top, "shards"), Data: 4, Parity: 2,
		Matrix: Vandermonde, Force: true}
}

// codeForKill encodes, removes a shard, and restores it and the file.
func codeForKill(t *testing.T, c *Coder, top string, turn int) {
	e := killedEncoding(top)
	gemmtest.Must(t, failure(c.Encode(t.Context(), e)))
	gemmtest.Must(t, os.Remove(filepath.Join(e.Dir, FileName(turn%6))))
	rec := Reconstruction{Dir: e.Dir, File: filepath.Join(top, "restored"), Repair: true, Force: true}
	gemmtest.Must(t, failure(c.Reconstruct(t.Context(), rec)))
	protectForKill(t, c, top, turn)
}

// protectForKill protects a file, damages a byte of it and of a parity shard, and repairs both. Every other time the
// parity is new; otherwise a killed process may have left it.
func protectForKill(t *testing.T, c *Coder, top string, turn int) {
	t.Helper()
	data := read(t, top, "file")
	name := filepath.Join(top, "kept")
	p := Protected{File: name, Dir: ParityFolder(name, "")}
	if turn%2 == 0 {
		_ = os.RemoveAll(p.Dir)
	}
	at, when := int64(turn*977%len(data)), time.Unix(1e9+int64(turn/4), 0)
	gemmtest.Must(t, output.Write(name, data, output.Permissions, false))
	gemmtest.Must(t, os.Chtimes(name, when, when))
	_, err := c.Protect(t.Context(),
		Protection{File: name, Dir: p.Dir, Data: 4, Parity: 2, Matrix: Cauchy, Force: true})
	if err != nil && !errors.Is(err, ErrProtected) {
		t.Fatal(err)
	}
	r, err := c.Check(t.Context(), p)
	gemmtest.Must(t, err)
	shard := filepath.Join(p.Dir, FileName(4+turn%2))
	flip(t, shard, r.set.payloadAt()+at/4)
	flip(t, name, at)
	gemmtest.Must(t, os.Chtimes(name, when, when))
	gemmtest.Must(t, failure(c.Repair(t.Context(), p)))
	if r, err := c.Check(t.Context(), p); err != nil || !r.IsGood() || !bytes.Equal(read(t, name), data) {
		t.Fatalf("after the repair: %+v, %v", r, err)
	}
}

// flip changes a byte of a file in its place.
func flip(t *testing.T, name string, at int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	gemmtest.Must(t, err)
	defer f.Close()
	b := make([]byte, 1)
	gemmtest.Must(t, failure(f.ReadAt(b, at)))
	b[0] ^= 1
	gemmtest.Must(t, failure(f.WriteAt(b, at)))
}

// differences returns the number of bytes in which a and b differ.
func differences(a, b []byte) (n int) {
	if len(a) != len(b) {
		return max(len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// wholeShards checks that all shards in a folder are complete, up to the given number of blocks. It returns their
// number, and the number of other files.
func wholeShards(t *testing.T, c *Coder, dir string, bad int64) (whole, others int) {
	t.Helper()
	if _, err := os.Stat(dir); err != nil {
		return 0, 0
	}
	all, err := find(dir)
	gemmtest.Must(t, err)
	for _, f := range all {
		if f.state == Good {
			(&Report{Dir: dir}).check(t.Context(), &f, c.meter("", 0))
		}
		if f.state != Good && (f.bad == nil || bad == 0 || f.bad.count() > bad) {
			t.Errorf("%s is %s: %s", f.name, f.state, f.reason)
		}
	}
	return len(all), len(names(t, dir)) - len(all)
}
