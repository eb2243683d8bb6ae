package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm/cmd/catalog"
	"gemm/gemmtest"
)

// archive writes a file of n bytes for shards and returns them.
func archive(t *testing.T, dir string, n int) []byte {
	t.Helper()
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	gemmtest.Must(t, os.WriteFile(filepath.Join(dir, "file"), data, 0o644))
	return data
}

// rs returns the arguments of gemm rs.
func rs(what string, args ...string) []string { return append([]string{"rs", what}, args...) }

// encoding returns the arguments that encode file as 4+2 shards.
func encoding(more ...string) []string {
	return append(rs("encode", "--data", "4", "--parity", "2", "--in", "file", "--out", "shards"), more...)
}

func TestShards(t *testing.T) {
	t.Parallel()
	for _, matrix := range []string{"vandermonde", "cauchy"} {
		dir := t.TempDir()
		data := archive(t, dir, 12345678)
		if r := succeed(t, dir, encoding("--matrix", matrix)...); r.stdout != "" ||
			!strings.Contains(r.stderr, "4+2 "+matrix+" shards") || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("encode: %q, %q", r.stdout, r.stderr)
		}
		fail(t, dir, 1, "000.shard: name another folder; --force replaces", encoding()...)
		if r := succeed(t, dir, rs("verify", "--in", "shards")...); !strings.HasPrefix(r.stdout, "SHARD") ||
			strings.Count(r.stdout, " good ") != 6 || r.stderr != "" {
			t.Errorf("verify: %q, %q", r.stdout, r.stderr)
		}
		for _, lost := range []string{"001.shard", "004.shard"} {
			gemmtest.Must(t, os.Remove(filepath.Join(dir, "shards", lost)))
		}
		r := start(t, dir, nil, rs("verify", "--in", "shards")...)
		if r.status != 1 || strings.Count(r.stdout, " missing ") != 2 ||
			!strings.Contains(r.stderr, "shards 1,4 are not good: gemm rs reconstruct --in shards --repair") {
			t.Errorf("verify: status %d, %q, %q", r.status, r.stdout, r.stderr)
		}
		r = succeed(t, dir, rs("reconstruct", "--in", "shards", "--out", "restored")...)
		if !strings.Contains(r.stderr, "shard 1 (001.shard) is missing") {
			t.Errorf("reconstruct: %q", r.stderr)
		}
		if restored, err := os.ReadFile(filepath.Join(dir, "restored")); err != nil || !slices.Equal(restored, data) {
			t.Errorf("%s: the file does not come back: %v", matrix, err)
		}
		for _, want := range []string{"reconstruct: shards 1,4 of 4+2 " + matrix + " shards",
			"reconstruct: shards: all shards are good\n"} {
			if r := succeed(t, dir, rs("reconstruct", "--in", "shards", "--repair")...); !strings.Contains(r.stderr, want) {
				t.Errorf("reconstruct --repair: %q, want %q", r.stderr, want)
			}
		}
		succeed(t, dir, rs("verify", "--in", "shards")...)
	}
}

// TestShardsByBlock prints the bad blocks of shards, and whether every stripe can be restored.
func TestShardsByBlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive(t, dir, 4*6*65536)
	succeed(t, dir, encoding()...)
	spoil := func(shard, block int) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, "shards", fmt.Sprintf("%03d.shard", shard)), os.O_RDWR, 0)
		gemmtest.Must(t, err)
		_, err = f.WriteAt([]byte("damage"), int64(64+4*6+65536*block+1000))
		gemmtest.Must(t, errors.Join(err, f.Close()))
	}
	for i := range 6 {
		spoil(i, i)
	}
	check := func(status int, want string, args ...string) {
		t.Helper()
		if r := start(t, dir, nil, args...); r.status != status || !strings.Contains(r.stdout+r.stderr, want) {
			t.Errorf("status %d, want %d; %q, %q, want %q", r.status, status, r.stdout, r.stderr, want)
		}
	}
	check(1, "1 of 6 blocks is bad: 3\n", rs("verify", "--in", "shards")...)
	check(1, "every stripe has 4 good blocks: all can be restored\n", rs("verify", "--in", "shards")...)
	spoil(0, 2)
	spoil(5, 2)
	check(1, "1 of 6 stripes cannot be restored\n", rs("verify", "--in", "shards")...)
	check(1, "1 of 6 stripes has fewer than 4 good blocks: 2 (bad in shards 0,2,5)", rs("reconstruct", "--in", "shards",
		"--out", "again", "--repair")...)
}

// TestShardsByVariant: every variant that multiplies in the field here computes the same.
func TestShardsByVariant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive(t, dir, 100000)
	want := ""
	for _, v := range catalog.Variants() {
		if !slices.Contains(v.Types(), "gf256") || available(t.Context(), v) != nil || v.Family() == mpiFamily {
			continue
		}
		if r := succeed(t, dir, encoding("--variant", v.Name, "--force")...); !strings.HasSuffix(r.stderr,
			"by "+v.Name+"\n") {
			t.Errorf("%s: %q", v.Name, r.stderr)
		}
		got := read(t, filepath.Join(dir, "shards", "005.shard"))
		got = got[64 : len(got)-64] // the id is another each time
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s computes another parity", v.Name)
		}
	}
	if want == "" {
		t.Error("no variant multiplies in the field")
	}
}

func TestShardsJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive(t, dir, 1000)
	succeed(t, dir, encoding()...)
	gemmtest.Must(t, os.Rename(filepath.Join(dir, "shards", "002.shard"), filepath.Join(dir, "shards", "other")))
	gemmtest.Must(t, os.Truncate(filepath.Join(dir, "shards", "003.shard"), 100))
	r := start(t, dir, nil, rs("verify", "--in", "shards", "--json", "-")...)
	var doc struct {
		Schema int
		Set    struct {
			ID, Matrix                  string
			Data, Parity, Length, Block int
		}
		Shards []struct {
			Index, Bytes              int
			Kind, State, File, Reason string
			BadBlocks                 int `json:"bad_blocks"`
			Bad                       [][2]int
		}
		Stripes  int
		Lost     struct{ Stripes int }
		Warnings []string
	}
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || r.status != 1 {
		t.Fatalf("status %d, %v: %s", r.status, err, r.stdout)
	}
	if doc.Schema != 1 || len(doc.Set.ID) != 32 || doc.Set.Matrix != "vandermonde" || doc.Set.Data != 4 ||
		doc.Set.Parity != 2 || doc.Set.Length != 1000 || doc.Set.Block != 65536 {
		t.Errorf("the set is %+v", doc.Set)
	}
	if len(doc.Shards) != 6 || len(doc.Warnings) != 1 || doc.Stripes != 1 || doc.Lost.Stripes != 0 {
		t.Fatalf("%+v", doc)
	}
	if s := doc.Shards[2]; s.State != "good" || s.File != "other" || s.Kind != "data" || s.Bytes != 2*(64+4)+250 {
		t.Errorf("a renamed shard is %+v", s)
	}
	if s := doc.Shards[3]; s.State != "truncated" || s.Index != 3 || s.Bytes != 100 ||
		s.Reason != "286 bytes are missing at its end; no block is good" ||
		s.BadBlocks != 1 || !slices.Equal(s.Bad, [][2]int{{0, 0}}) {
		t.Errorf("a truncated shard is %+v", s)
	}
	fail(t, dir, 1, "file exists already", rs("verify", "--in", "shards", "--json", "file")...)
}

// TestShardsInterrupted: Ctrl-C leaves nothing.
func TestShardsInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive(t, dir, 0)
	gemmtest.Must(t, os.Truncate(filepath.Join(dir, "file"), 1<<32)) // takes minutes
	begun := func() bool {
		list, err := os.ReadDir(filepath.Join(dir, "shards"))
		return err == nil && len(list) == 256+1 // and a lock
	}
	r, _ := interrupt(t, dir, nil, begun, encoding("--data", "128", "--parity", "128", "--variant", "serial/naive")...)
	if r.stderr != "gemm rs encode: interrupted; nothing was written\n" {
		t.Errorf("%q", r.stderr)
	}
	if left := entries(t, dir); !slices.Equal(left, []string{"file"}) {
		t.Errorf("left are %v", left)
	}
}

// TestShardsOnAFullDisk: the shell's limit on files stands in for one.
func TestShardsOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive(t, dir, 1<<20)
	succeed(t, dir, encoding()...)
	limited := func(args ...string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "sh",
			append([]string{"-c", `trap "" XFSZ; ulimit -f 100; exec "$@"`, "sh", binary}, args...)...)
	}
	full := func(cmd *exec.Cmd, want string) {
		t.Helper()
		cmd.Dir = dir
		before := entries(t, dir)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), want) ||
			strings.Count(string(out), "\n") != 1 {
			t.Errorf("%v, %s; want one line with %q", err, out, want)
		}
		if after := entries(t, dir); !slices.Equal(after, before) {
			t.Errorf("left are %v of %v", after, before)
		}
	}
	full(limited(encoding("--out", "more")...), ".shard: cannot be written: file too large")
	full(limited(rs("reconstruct", "--in", "shards", "--out", "restored")...),
		"restored: cannot be written: file too large")
	succeed(t, dir, rs("protect", "file", "--parity", "1")...)
	info, err := os.Stat(filepath.Join(dir, "file"))
	gemmtest.Must(t, err)
	broken := make([]byte, 1<<20) // its first block is bad, and the others have other bytes only there
	if data, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || copy(broken[9:], data[9:]) == 0 {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), broken, 0o644),
		os.Chtimes(filepath.Join(dir, "file"), info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	r := limited(rs("repair", "file")...)
	r.Dir = dir
	out, err := r.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "file: cannot be written: file too large") {
		t.Errorf("repair: %v, %s", err, out)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !slices.Equal(after, broken) {
		t.Errorf("a repair that failed has changed the file: %v", err)
	}
	if left := entries(t, dir); !slices.Equal(left, []string{"file", "file.gemm-parity", "shards"}) {
		t.Errorf("left are %v", left)
	}
}

// TestProtectedFiles protects, damages, checks and repairs a file and a folder by command lines as people write them.
func TestProtectedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := archive(t, dir, 500000)
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "tree", "deep"), 0o777),
		os.WriteFile(filepath.Join(dir, "tree", "deep", "text"), []byte("text\n"), 0o644),
		os.Symlink("deep/text", filepath.Join(dir, "tree", "link"))); err != nil {
		t.Fatal(err)
	}
	if r := succeed(t, dir, rs("protect", "file", "--parity", "2", "tree")...); !strings.Contains(r.stderr,
		"protect: 2 files with 20+2 parity; ") ||
		!strings.Contains(r.stderr, "tree: links and special files are left out: 1\n") {
		t.Errorf("protect: %q", r.stderr)
	}
	if r := succeed(t, dir, rs("protect", "tree", "--parity", "2")...); !strings.Contains(r.stderr,
		"1 file already with parity") {
		t.Errorf("protect: %q", r.stderr)
	}
	if r := succeed(t, dir, rs("check", "file", "tree.gemm-parity", "tree/deep/text")...); r.stdout !=
		"good: 3 of 3 files\n" {
		t.Errorf("check: %q", r.stdout)
	}
	info, err := os.Stat(filepath.Join(dir, "file"))
	gemmtest.Must(t, err)
	broken := slices.Clone(data)
	broken[30000]++
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), broken, 0o644),
		os.Chtimes(filepath.Join(dir, "file"), info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tree", "deep", "text"), "texts\n")
	r := start(t, dir, nil, rs("check", "tree", "file", "--json", "-")...)
	var doc struct {
		Schema int
		Files  []struct {
			File, State, Reason string
			Bad                 [][2]int
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || r.status != 1 || len(doc.Files) != 2 {
		t.Fatalf("status %d, %v: %s", r.status, err, r.stdout)
	}
	if f := doc.Files[1]; f.File != "file" || f.State != "damaged" || !slices.Equal(f.Bad, [][2]int{{25000, 49999}}) ||
		f.Reason != "1 of 20 blocks is bad, in bytes 25000-49999" {
		t.Errorf("a damaged file is %+v", f)
	}
	if f := doc.Files[0]; f.State != "changed" || f.Reason != "it has 6 bytes, 5 were protected" {
		t.Errorf("a changed file is %+v", f)
	}
	r = start(t, dir, nil, rs("check", "file", "tree")...)
	if r.status != 1 ||
		!strings.Contains(r.stderr, "not good: 2 of 2 files: gemm rs repair file tree restores 1\n") ||
		!strings.HasSuffix(r.stdout, "\ngood: 0 of 2 files\n") {
		t.Errorf("check: status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
	r = start(t, dir, nil, rs("repair", "file", "tree")...)
	if r.status != 1 ||
		!strings.Contains(r.stderr, "file is repaired: 1 of 20 blocks is bad, in bytes 25000-49999\n") ||
		!strings.Contains(r.stderr, "text: is changed and was left alone: it has 6 bytes, 5 were protected; protect") {
		t.Errorf("repair: status %d, %q", r.status, r.stderr)
	}
	now, err := os.Stat(filepath.Join(dir, "file"))
	got, err2 := os.ReadFile(filepath.Join(dir, "file"))
	if errors.Join(err, err2) != nil || !slices.Equal(got, data) ||
		!now.ModTime().Equal(info.ModTime()) || now.Mode() != info.Mode() {
		t.Errorf("the file does not come back: %v, %v", err, err2)
	}
	succeed(t, dir, rs("repair", "--content", "--", "tree")...)
	if r := succeed(t, dir, rs("protect", "--parity=1", "file", "--out", "store", "--data", "7")...); r.status != 0 {
		t.Errorf("protect: %q", r.stderr)
	}
	succeed(t, dir, rs("check", "file", "--in", "store")...)
	for want, args := range map[string][]string{
		"absent: there is no such file, and no parity of it in absent.gemm-parity": rs("check", "absent"),
		"not repaired: 1 of 1 file":  rs("repair", "absent"),
		"not protected: 1 of 1 file": rs("protect", "absent", "--parity", "1"),
	} {
		if r := start(t, dir, nil, args...); r.status != 1 || !strings.Contains(r.stderr, want) || r.stdout != "" {
			t.Errorf("%q: status %d, %q, %q; want %q", args, r.status, r.stdout, r.stderr, want)
		}
	}
}

// peakMemory runs the program in dir and returns the most memory that it held. What the system
// adds up of a child that has ended counts the process that started it.
func peakMemory(t *testing.T, dir string, args ...string) (peak int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var out strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(os.Environ(), "GOMAXPROCS=16")
	gemmtest.Must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)); err == nil {
			if _, after, ok := strings.Cut(string(status), "VmHWM:"); ok {
				var kibibytes int
				if _, err := fmt.Sscan(after, &kibibytes); err != nil {
					t.Fatal(err)
				}
				peak = max(peak, kibibytes<<10)
			}
		}
		select {
		case err := <-ended:
			if err != nil || peak == 0 {
				t.Fatalf("%v, %d bytes, %s", err, peak, out.String())
			}
			return peak
		case <-time.After(time.Millisecond):
		}
	}
}

// TestShardsInLittleMemory encodes and restores a file that is larger than the memory that
// is used at most, also on many processors.
func TestShardsInLittleMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	t.Parallel()
	const most = 300 << 20
	dir := t.TempDir()
	archive(t, dir, 0)
	gemmtest.Must(t, os.Truncate(filepath.Join(dir, "file"), 320<<20))
	peak := func(args ...string) {
		t.Helper()
		if got := peakMemory(t, dir, args...); got > most {
			t.Errorf("gemm %s takes %d bytes of memory, want at most %d", strings.Join(args, " "), got, most)
		}
	}
	for _, code := range [][2]int{{4, 2}, {254, 2}} {
		data, parity := fmt.Sprint(code[0]), fmt.Sprint(code[1])
		peak(encoding("--data", data, "--parity", parity, "--force")...)
		gemmtest.Must(t, os.Remove(filepath.Join(dir, "shards", "000.shard")))
		peak(rs("reconstruct", "--in", "shards", "--out", "restored", "--repair", "--force")...)
		peak(rs("verify", "--in", "shards")...)
	}
	peak(rs("protect", "file", "--parity", "4")...)
	f, err := os.OpenFile(filepath.Join(dir, "file"), os.O_RDWR, 0)
	gemmtest.Must(t, err)
	if _, err := f.WriteAt([]byte("damage"), 1000000); errors.Join(err, f.Close()) != nil {
		t.Fatal(err)
	}
	peak(rs("repair", "file", "--content")...)
	peak(rs("check", "file")...)
}
