package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/internal/output"
)

// when is the time of protected files in tests.
var when = time.Date(2020, 3, 4, 5, 6, 7, 89, time.UTC)

// protected writes a file and its parity.
func protected(t testing.TB, c *Coder, data []byte, k, m int) Protected {
	t.Helper()
	name := write(t, t.TempDir(), "file", data)
	gemmtest.Must(t, os.Chtimes(name, when, when))
	p := Protected{File: name, Dir: ParityFolder(name, "")}
	gemmtest.Must(t, failure(c.Protect(t.Context(),
		Protection{File: name, Dir: p.Dir, Data: k, Parity: m, Matrix: Vandermonde})))
	return p
}

// rewrite replaces the bytes of a file, and its time is what it was.
func rewrite(t testing.TB, p Protected, data []byte) {
	t.Helper()
	info, err := os.Stat(p.File)
	gemmtest.Must(t, err)
	gemmtest.Must(t, errors.Join(os.WriteFile(p.File, data, info.Mode()), os.Chtimes(p.File, when, when)))
}

// stripe returns n offsets of bytes in stripe s of the file, in its first parts.
func stripe(s int64, n int, set Set) (offsets []int64) {
	for i := range int64(n) {
		offsets = append(offsets, i*set.Payload()+s*int64(set.Block)+i)
	}
	return offsets
}

// TestProtect damages a file and its parity in every stripe, as much as can be restored, and then one block more.
func TestProtect(t *testing.T) {
	c := newCoder(t)
	for _, size := range []int{1, 3, 64, 1000, 5*64*7 - 3, 5 * 64 * 7} {
		data := random(size, uint64(size))
		p := protected(t, c, data, 5, 3)
		gemmtest.Must(t, os.Chmod(p.File, 0o640))
		r, err := c.Check(t.Context(), p)
		if err != nil || !r.IsGood() || r.Note != "" {
			t.Fatalf("%d bytes: %+v, %v", size, r, err)
		}
		set, broken := r.set, slices.Clone(data)
		whole := map[string][]byte{}
		for _, name := range names(t, p.Dir) {
			whole[name] = read(t, p.Dir, name)
		}
		if len(whole) != 3 {
			t.Fatalf("the parity is %v", names(t, p.Dir))
		}
		for s := range set.Stripes() {
			for _, off := range stripe(s, 2, set) {
				if off < int64(size) {
					broken[off]++
				}
			}
			spoil(t, p.Dir, set, 5+int(s%3), s)
		}
		rewrite(t, p, broken)
		r, err = c.Check(t.Context(), p)
		if err != nil || r.State != Damaged || !r.Repairable() || len(r.Bad) == 0 || r.Bad[0][0] != 0 {
			t.Fatalf("%d bytes: %+v, %v", size, r, err)
		}
		if r, err := c.Repair(t.Context(), p); err != nil || r.State != Damaged {
			t.Fatalf("%d bytes: %+v, %v", size, r, err)
		}
		info, err := os.Stat(p.File)
		if err != nil || !bytes.Equal(read(t, p.File), data) || !info.ModTime().Equal(when) ||
			runtime.GOOS != "windows" && info.Mode() != 0o640 {
			t.Errorf("%d bytes: the file is not what it was: %v, %v", size, info, err)
		}
		for name, b := range whole {
			if !bytes.Equal(read(t, p.Dir, name), b) {
				t.Errorf("%d bytes: %s is not what it was", size, name)
			}
		}
		if r, err := c.Check(t.Context(), p); err != nil || !r.IsGood() {
			t.Errorf("%d bytes: after the repair %+v, %v", size, r, err)
		}
	}
}

// TestProtectLost: with too many bad blocks in a stripe, the stripe is named and nothing is written.
func TestProtectLost(t *testing.T) {
	c := newCoder(t)
	data := random(5*64*7, 1)
	p := protected(t, c, data, 5, 2)
	r, err := c.Check(t.Context(), p)
	gemmtest.Must(t, err)
	for _, off := range stripe(3, 2, r.set) {
		data[off]++
	}
	spoil(t, p.Dir, r.set, 6, 3)
	rewrite(t, p, data)
	before := append(names(t, filepath.Dir(p.File)), names(t, p.Dir)...)
	r, err = c.Repair(t.Context(), p)
	const want = "1 of 7 stripes has fewer than 5 good blocks: 3 (bad in shards 0-1,6)"
	if err == nil || !strings.Contains(err.Error(), want) ||
		r.Lost != 1 || r.Repairable() {
		t.Errorf("%+v, %v", r, err)
	}
	if after := append(names(t, filepath.Dir(p.File)), names(t, p.Dir)...); !slices.Equal(after, before) ||
		!bytes.Equal(read(t, p.File), data) {
		t.Errorf("left are %v of %v", after, before)
	}
}

// TestProtectInterchange: the parity is the parity of shards, which is klauspost's. With as many parity shards as
// parts, a deleted file comes back.
func TestProtectInterchange(t *testing.T) {
	c := newCoder(t)
	data := random(999, 1)
	p := protected(t, c, data, 2, 2)
	dir, set := encode(t, c, data, 2, 2, Vandermonde)
	gemmtest.Must(t, os.Remove(p.File))
	r, err := c.Repair(t.Context(), p)
	gemmtest.Must(t, err)
	if info, err := os.Stat(p.File); err != nil || !info.ModTime().Equal(when) || !bytes.Equal(read(t, p.File), data) {
		t.Errorf("%v, %v", info, err)
	}
	for i := 2; i < 4; i++ {
		at := r.set.payloadAt()
		if got := read(t, p.Dir, FileName(i))[at : at+set.Payload()]; !bytes.Equal(got, payload(t, dir, i, set)) {
			t.Errorf("shard %d is another", i)
		}
	}
}

// TestProtectedStates: what is said of a file that is not as it was.
func TestProtectedStates(t *testing.T) {
	c := newCoder(t)
	data := random(2000, 1)
	later := when.Add(time.Hour)
	for name, test := range map[string]struct {
		harm    func(t *testing.T, p *Protected)
		state   State
		reason  string // part of it, or of the note
		content State  // with Content
		repair  string // part of the error without Content; empty: none
	}{
		"nothing": {harm: func(*testing.T, *Protected) {}, state: Good, content: Good},
		"time": {harm: func(t *testing.T, p *Protected) { _ = os.Chtimes(p.File, later, later) }, state: Changed,
			content: Good, reason: "its time is 2020-03-04 06:06:07, 2020-03-04 05:06:07 was protected",
			repair: "is changed and was left alone"},
		"shorter": {harm: func(t *testing.T, p *Protected) { rewrite(t, *p, data[:1500]) }, state: Changed,
			content: Damaged, reason: "it has 1500 bytes, 2000 were protected",
			repair: "is changed and was left alone"},
		"longer": {harm: func(t *testing.T, p *Protected) { rewrite(t, *p, append(slices.Clone(data), 1)) },
			state: Changed, content: Damaged, reason: "it has 2001 bytes", repair: "is changed and was left alone"},
		"deleted": {harm: func(t *testing.T, p *Protected) { _ = os.Remove(p.File) }, state: Missing, content: Missing,
			reason: "there is no such file", repair: "restore it from a copy"},
		"renamed": {harm: func(t *testing.T, p *Protected) { _ = os.Rename(p.File, p.File+"2") }, state: Missing,
			content: Missing, reason: "file2 has its size, time and beginning", repair: "rename it back to file"},
		"both renamed": {harm: func(t *testing.T, p *Protected) {
			dir := ParityFolder(p.File+"2", "")
			gemmtest.Must(t, errors.Join(os.Rename(p.File, p.File+"2"), os.Rename(p.Dir, dir)))
			p.File, p.Dir = p.File+"2", dir
		}, state: Good, content: Good, reason: "it was protected as file"},
		"of another": {harm: func(t *testing.T, p *Protected) {
			p.File = write(t, filepath.Dir(p.File), "other", data[:100])
		}, state: Foreign, content: Foreign, reason: "the parity is of file, 2000 bytes",
			repair: "is foreign and was left alone"},
		"no parity": {harm: func(t *testing.T, p *Protected) { p.Dir += "2" }, state: Unprotected, content: Unprotected,
			reason: "there is no parity", repair: "Protect makes it"},
		"empty parity": {harm: func(t *testing.T, p *Protected) { p.Dir = t.TempDir() }, state: Unprotected,
			content: Unprotected, reason: "there is no parity", repair: "is unprotected and was left alone"},
		"no tables": {harm: func(t *testing.T, p *Protected) {
			for i := 4; i < 6; i++ {
				b := read(t, p.Dir, FileName(i))
				b[64+20+100]++
				b[len(b)-64-20-100]++
				write(t, p.Dir, FileName(i), b)
			}
		}, state: Unreadable, content: Unreadable, reason: "no parity shard has an intact table",
			repair: "is unreadable and was left alone: no parity shard"},
		"a folder": {harm: func(t *testing.T, p *Protected) { _ = os.Remove(p.File); _ = os.Mkdir(p.File, 0o777) },
			state: Unreadable, content: Unreadable, reason: "it is not a regular file", repair: "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			p := protected(t, c, data, 4, 2)
			test.harm(t, &p)
			r, err := c.Check(t.Context(), p)
			if err != nil || r.State != test.state || !strings.Contains(r.Reason+r.Note, test.reason) {
				t.Errorf("%+v, %v; want %s, %q", r, err, test.state, test.reason)
			}
			_, err = c.Repair(t.Context(), p)
			if (err == nil) != (test.repair == "") || err != nil && !strings.Contains(err.Error(), test.repair) {
				t.Errorf("repaired: %v, want %q", err, test.repair)
			}
			p.Content = true
			if r, err = c.Check(t.Context(), p); err != nil || r.State != test.content {
				t.Errorf("with the content: %+v, %v; want %s", r, err, test.content)
			}
			if test.content != Damaged {
				return
			}
			if _, err := c.Repair(t.Context(), p); err != nil || !bytes.Equal(read(t, p.File), data) {
				t.Errorf("repaired with the content: %v", err)
			}
		})
	}
}

// TestProtectAgain: the parity of the same state is kept, and of another it is replaced only with Force.
func TestProtectAgain(t *testing.T) {
	c := newCoder(t)
	p := protected(t, c, random(2000, 1), 4, 2)
	again := Protection{File: p.File, Dir: p.Dir, Data: 4, Parity: 2, Matrix: Vandermonde}
	if _, err := c.Protect(t.Context(), again); !errors.Is(err, ErrProtected) {
		t.Errorf("the same: %v", err)
	}
	rewrite(t, p, random(3000, 2))
	again.Data, again.Parity = 3, 1
	if _, err := c.Protect(t.Context(), again); !errors.Is(err, ErrExists) {
		t.Errorf("another: %v", err)
	}
	again.Force = true
	gemmtest.Must(t, failure(c.Protect(t.Context(), again)))
	if left := names(t, p.Dir); !slices.Equal(left, []string{FileName(3)}) {
		t.Errorf("left are %v", left)
	}
	if r, err := c.Check(t.Context(), p); err != nil || !r.IsGood() {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.Verify(t.Context(), p.Dir); err == nil || !strings.Contains(err.Error(), ": Check compares") {
		t.Errorf("verified as shards: %v", err)
	}
	dir, _ := encode(t, c, random(100, 1), 2, 1, Vandermonde)
	p.Dir = dir
	if _, err := c.Check(t.Context(), p); err == nil || !strings.Contains(err.Error(), ": Verify checks them") {
		t.Errorf("shards are checked as parity: %v", err)
	}
}

// TestProtectMidway: a file that changes while it is read or repaired ends it, and so does a lock; nothing is left.
func TestProtectMidway(t *testing.T) {
	c := newCoder(t)
	plain, data := c.Multiplier, random(50000, 1)
	file := write(t, t.TempDir(), "file", data)
	p := Protected{File: file, Dir: ParityFolder(file, "")}
	for _, size := range []int64{10, 60000} {
		c.Multiplier = changing{plain, func() { _ = os.Truncate(file, size) }}
		_, err := c.Protect(t.Context(), Protection{File: file, Dir: p.Dir, Data: 4, Parity: 2, Matrix: Vandermonde})
		if err == nil || !strings.Contains(err.Error(), "file: was changed while it was read") {
			t.Errorf("changed to %d bytes: %v", size, err)
		}
		write(t, filepath.Dir(file), "file", data)
	}
	if left := names(t, filepath.Dir(file)); !slices.Equal(left, []string{"file"}) {
		t.Errorf("left are %v", left)
	}
	c.Multiplier = plain
	p = protected(t, c, data, 4, 2)
	broken := slices.Clone(data)
	broken[7]++
	rewrite(t, p, broken)
	for _, name := range []string{p.File, filepath.Join(p.Dir, "shards")} {
		lock, err := output.NewLock(name)
		gemmtest.Must(t, err)
		if _, err := c.Repair(t.Context(), p); !errors.Is(err, output.ErrInUse) {
			t.Errorf("repaired at the same time: %v", err)
		}
		lock.Release()
	}
	c.Multiplier = changing{plain, func() { _ = os.Chtimes(p.File, time.Now(), time.Now()) }}
	if _, err := c.Repair(t.Context(), p); err == nil ||
		!strings.Contains(err.Error(), "was changed while it was repaired") {
		t.Errorf("changed while it is repaired: %v", err)
	}
	if !bytes.Equal(read(t, p.File), broken) || len(names(t, filepath.Dir(p.File))) != 2 || len(names(t, p.Dir)) != 2 {
		t.Errorf("left are %v, %v", names(t, filepath.Dir(p.File)), names(t, p.Dir))
	}
}

// TestTree protects a folder, does to it what people and disks do, and repairs it.
func TestTree(t *testing.T) {
	c := newCoder(t)
	top := filepath.Join(t.TempDir(), "tree")
	at := func(path string) string { return filepath.Join(top, filepath.FromSlash(path)) }
	contents := map[string][]byte{}
	for i, path := range []string{"a", "b", "empty", "deep/a", "deep/er/c", "deep/moved", "files", "x \"y\"\n"} {
		contents[path] = random(1000*i, uint64(i))
		if path == "empty" {
			contents[path] = nil
		}
		gemmtest.Must(t, os.MkdirAll(filepath.Dir(at(path)), 0o777))
		if i == 0 {
			contents[path] = random(500, 9)
		}
		write(t, filepath.Dir(at(path)), filepath.Base(at(path)), contents[path])
	}
	if err := os.Symlink("a", at("link")); err != nil {
		t.Skip(err)
	}
	target := Target{Name: top, Dir: ParityFolder(top, ""), IsFolder: true}
	protect := func() (made, before int, said []string) {
		t.Helper()
		p := Protection{Data: 4, Parity: 2, Matrix: Cauchy}
		err := c.ProtectAll(t.Context(), target, p, func(_ string, _ Set, err error) {
			switch {
			case err == nil:
				made++
			case errors.Is(err, ErrProtected):
				before++
			case !errors.Is(err, ErrLeftOut):
				t.Error(err)
			default:
				said = append(said, err.Error())
			}
		})
		gemmtest.Must(t, err)
		return made, before, said
	}
	if made, before, said := protect(); made != 7 || before != 0 || len(said) != 1 ||
		!strings.Contains(said[0], ": links and special files are left out: 1") {
		t.Fatalf("%d, %d, %q", made, before, said)
	}
	if made, before, _ := protect(); made != 0 || before != 7 {
		t.Errorf("again: %d, %d", made, before)
	}
	states := func(visit func(context.Context, Target, bool, func(*FileReport, error)) error) map[string]State {
		t.Helper()
		found := map[string]State{}
		target, err := Locate(top, "")
		gemmtest.Must(t, err)
		if err := visit(t.Context(), target, false, func(r *FileReport, err error) {
			if r == nil {
				found[err.Error()] = Damaged
				return
			}
			path, _ := filepath.Rel(top, r.File)
			found[filepath.ToSlash(path)] = r.State
			if r.renamed {
				found[filepath.ToSlash(path)] += ": " + State(r.Reason[len(top)+1:strings.Index(r.Reason, " has")])
			}
			if r.State == Good && !r.IsGood() {
				found[filepath.ToSlash(path)] = "parity"
			}
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	for path, state := range states(c.CheckAll) {
		if state != Good {
			t.Errorf("%s is %s", path, state)
		}
	}
	b := slices.Clone(contents["deep/er/c"])
	info, _ := os.Stat(at("deep/er/c"))
	b[10]++
	damagedParity := filepath.Join(target.Dir, "b.gemm-parity", FileName(5))
	if err := errors.Join(os.WriteFile(at("deep/er/c"), b, 0o644),
		os.Chtimes(at("deep/er/c"), info.ModTime(), info.ModTime()),
		os.WriteFile(at("a"), []byte("new text"), 0o644), os.Remove(at("files")),
		os.Rename(at("deep/moved"), at("here")),
		os.WriteFile(at("new"), []byte("new"), 0o644), os.Truncate(damagedParity, 100),
		os.WriteFile(filepath.Join(target.Dir, tableName), []byte(tableHead), 0o644)); err != nil {
		t.Fatal(err)
	}
	want := map[string]State{"a": Changed, "b": "parity", "empty": Good, "deep/a": Good, "deep/er/c": Damaged,
		"deep/moved": "missing: here", "files": Missing, "x \"y\"\n": Good, "new": Unprotected, "here": Unprotected,
		filepath.Join(target.Dir, tableName) + ": is damaged; Repair writes it again": Damaged}
	if got := states(c.CheckAll); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("checked\n%v, want\n%v", got, want)
	}
	states(c.RepairAll)
	want["b"], want["deep/er/c"] = Good, Good
	delete(want, filepath.Join(target.Dir, tableName)+": is damaged; Repair writes it again")
	if got := states(c.CheckAll); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("repaired\n%v, want\n%v", got, want)
	}
	if !bytes.Equal(read(t, at("deep/er/c")), contents["deep/er/c"]) {
		t.Error("a file is not what it was")
	}
}

// TestLocate finds the parity of what users name.
func TestLocate(t *testing.T) {
	top := t.TempDir()
	at := func(path string) string { return filepath.Join(top, filepath.FromSlash(path)) }
	for _, dir := range []string{"file.gemm-parity", "tree/deep", "tree.gemm-parity/deep/c.gemm-parity",
		"gone.gemm-parity", "store/file.gemm-parity"} {
		gemmtest.Must(t, os.MkdirAll(at(dir), 0o777))
	}
	for _, file := range []string{"file", "tree/deep/c", "tree.gemm-parity/files", "gone.gemm-parity/files"} {
		write(t, filepath.Dir(at(file)), filepath.Base(file), nil)
	}
	for _, test := range []struct {
		name, in string
		want     Target
	}{
		{"file", "", Target{"file", "file.gemm-parity", false}},
		{"file.gemm-parity", "", Target{"file", "file.gemm-parity", false}},
		{"file", "store", Target{"file", "store/file.gemm-parity", false}},
		{"tree", "", Target{"tree", "tree.gemm-parity", true}},
		{"tree/", "", Target{"tree", "tree.gemm-parity", true}},
		{"tree.gemm-parity", "", Target{"tree", "tree.gemm-parity", true}},
		{"tree/deep/c", "", Target{"tree/deep/c", "tree.gemm-parity/deep/c.gemm-parity", false}},
		{"gone", "", Target{"gone", "gone.gemm-parity", true}},
		{"none", "", Target{"none", "none.gemm-parity", false}},
		{"tree/deep/..", "", Target{"tree", "tree.gemm-parity", true}},
	} {
		in := test.in
		if in != "" {
			in = at(in)
		}
		test.want.Name, test.want.Dir = at(test.want.Name), at(test.want.Dir)
		if got, err := Locate(at(test.name), in); got != test.want || (err != nil) != (test.name == "none") {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got, err, test.want)
		}
	}
	t.Chdir(at("tree")) // the folder that a process is in
	if here, err := os.Getwd(); err != nil || ParityFolder(".", "") != here+ParityExtension {
		t.Errorf("%s, %v, want it next to %s", ParityFolder(".", ""), err, here)
	}
}

// FuzzProtect damages bytes of a file and its parity. What comes back is the file, or there is an error and the file is
// as it was.
func FuzzProtect(f *testing.F) {
	if info, err := os.Stat(memoryFolder); err == nil && info.IsDir() {
		f.Setenv("TMPDIR", memoryFolder)
	}
	f.Add(uint8(4), uint8(2), uint16(1000), uint16(64), []byte{0, 5, 200, 7})
	f.Add(uint8(2), uint8(3), uint16(10), uint16(1), []byte{1, 0, 2, 0, 3, 3})
	f.Fuzz(func(t *testing.T, k, m uint8, size, block uint16, spoilt []byte) {
		if k == 0 || m == 0 || int(k)+int(m) > gf256.MaxShards || size == 0 || block == 0 {
			t.Skip()
		}
		c := newCoder(t)
		c.block = int(block)
		data := random(int(size), uint64(size))
		p := protected(t, c, data, int(k), int(m))
		broken := slices.Clone(data)
		for n := 0; n+1 < len(spoilt); n += 2 {
			if n%4 == 0 {
				broken[int(spoilt[n])*7919%len(broken)] ^= spoilt[n+1]
				continue
			}
			name := FileName(int(k) + int(spoilt[n])%int(m))
			b := read(t, p.Dir, name)
			b[int(spoilt[n+1])*7919%len(b)] ^= 1 << (n % 8)
			write(t, p.Dir, name, b)
		}
		rewrite(t, p, broken)
		_, err := c.Repair(t.Context(), p)
		after := read(t, p.File)
		if err == nil && !bytes.Equal(after, data) || err != nil && !bytes.Equal(after, broken) {
			t.Fatalf("the file is neither: %v", err)
		}
		if r, failed := c.Check(t.Context(), p); err == nil && (failed != nil || !r.IsGood()) {
			t.Fatalf("after a repair: %+v, %v", r, failed)
		}
		if _, missing := os.Stat(p.File); errors.Is(missing, fs.ErrNotExist) {
			t.Fatal("the file is gone")
		}
	})
}
