package shard

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/reedsolomon"

	"gemm"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/internal/output"
	"gemm/serial"
)

// newCoder returns a coder with small blocks and slices, so that small files have many.
func newCoder(t testing.TB) *Coder {
	t.Helper()
	ikj, err := gemm.Lookup(serial.Variants(), "serial/ikj")
	gemmtest.Must(t, err)
	m, err := gemm.New[gf256.Elem](ikj, nil)
	gemmtest.Must(t, err)
	return &Coder{Multiplier: m, block: 64, buffer: 4096}
}

// failure returns the error of a call.
func failure[T any](_ T, err error) error { return err }

// random returns n bytes.
func random(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(b)
	return b
}

// write writes a file in dir and returns its name.
func write(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(dir, name)
	gemmtest.Must(t, os.WriteFile(name, data, 0o644))
	return name
}

// read returns the bytes of a file.
func read(t testing.TB, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	gemmtest.Must(t, err)
	return data
}

// encode makes the shards of data in a new folder.
func encode(t testing.TB, c *Coder, data []byte, k, m int, matrix Matrix) (dir string, set Set) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "shards")
	set, err := c.Encode(context.Background(),
		Encoding{File: write(t, top, "file", data), Dir: dir, Data: k, Parity: m, Matrix: matrix})
	gemmtest.Must(t, err)
	return dir, set
}

// payload returns what `tail -c +$((65 + T)) | head -c S` does.
func payload(t testing.TB, dir string, i int, set Set) []byte {
	t.Helper()
	at := 64 + 4*((set.Payload()-1)/int64(set.Block)+1)
	return read(t, dir, FileName(i))[at : at+set.Payload()]
}

// names returns the names in a folder.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	gemmtest.Must(t, err)
	var list []string
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

// codes are those that are compared with klauspost/reedsolomon.
var codes = [][2]int{{1, 1}, {4, 2}, {10, 4}, {17, 3}, {50, 20}, {128, 32}, {200, 56}}

// theirs returns klauspost's encoder.
func theirs(t testing.TB, k, m int, matrix Matrix) reedsolomon.Encoder {
	t.Helper()
	var options []reedsolomon.Option
	if matrix == Cauchy {
		options = append(options, reedsolomon.WithCauchyMatrix())
	}
	encoder, err := reedsolomon.New(k, m, options...)
	gemmtest.Must(t, err)
	return encoder
}

// TestInterchange: payloads are klauspost's, each side restores what the other made.
func TestInterchange(t *testing.T) {
	for _, code := range codes {
		for _, matrix := range []Matrix{Vandermonde, Cauchy} {
			k, m := code[0], code[1]
			if testing.Short() && k > 50 {
				continue // they take long, and work on more shards in the same way
			}
			t.Run(fmt.Sprintf("%d+%d %v", k, m, matrix), func(t *testing.T) {
				c := newCoder(t)
				data := random(k*300-7, uint64(k))
				dir, set := encode(t, c, data, k, m, matrix)
				encoder := theirs(t, k, m, matrix)
				want, err := encoder.Split(slices.Clone(data))
				gemmtest.Must(t, err)
				gemmtest.Must(t, encoder.Encode(want))
				for i := range want {
					if !bytes.Equal(payload(t, dir, i, set), want[i]) {
						t.Fatalf("the payload of shard %d is not klauspost's", i)
					}
				}

				lost := rand.New(rand.NewPCG(1, uint64(k))).Perm(k + m)[:m]
				shards := make([][]byte, k+m) // ours, for theirs
				for i := range shards {
					if !slices.Contains(lost, i) {
						shards[i] = payload(t, dir, i, set)
					}
				}
				gemmtest.Must(t, encoder.Reconstruct(shards))
				var restored bytes.Buffer
				if err := encoder.Join(&restored, shards, len(data)); err != nil || !bytes.Equal(restored.Bytes(), data) {
					t.Errorf("klauspost restores %d bytes of our shards, %v", restored.Len(), err)
				}

				dir = t.TempDir() // theirs, for ours
				for i := range want {
					if slices.Contains(lost, i) {
						continue
					}
					var files output.Group
					w, err := newWriter(&files, dir, header{Set: set, index: i}, 0o644)
					gemmtest.Must(t, err)
					gemmtest.Must(t, errors.Join(w.write(want[i], 0), w.finish(), files.Commit(t.Context())))
				}
				out := filepath.Join(t.TempDir(), "file")
				gemmtest.Must(t, failure(c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: out, Repair: true})))
				if !bytes.Equal(read(t, out), data) {
					t.Error("the file of klauspost's shards is not what was encoded")
				}
				for i := range want {
					if !bytes.Equal(payload(t, dir, i, set), want[i]) {
						t.Errorf("the repaired shard %d is not klauspost's", i)
					}
				}
			})
		}
	}
}

// TestFormat reads a shard by the offsets that docs/rs.md has.
func TestFormat(t *testing.T) {
	data := random(1000, 1)
	dir, set := encode(t, newCoder(t), data, 3, 2, Cauchy)
	const size, at = 334, 64 + 4*6 // ⌈1000/3⌉
	for i := range 5 {
		b := read(t, dir, fmt.Sprintf("%03d.shard", i))
		if len(b) != at+size+4*6+64 || set.Size() != int64(len(b)) {
			t.Fatalf("shard %d has %d bytes", i, len(b))
		}
		sum := func(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
		le := binary.LittleEndian
		table := b[64:at]
		for name, ok := range map[string]bool{
			"magic": string(b[:8]) == "gemm-rs\n", "version": le.Uint16(b[8:]) == 2, "matrix": b[10] == 2,
			"checksum": b[11] == 1,
			"data":     le.Uint16(b[12:]) == 3, "parity": le.Uint16(b[14:]) == 2, "index": le.Uint16(b[16:]) == uint16(i),
			"block": le.Uint32(b[20:]) == 64, "length": le.Uint64(b[24:]) == 1000, "id": bytes.Equal(b[32:48], set.ID[:]),
			"table": le.Uint32(b[48:]) == sum(table), "header": le.Uint32(b[60:]) == sum(b[:60]),
			"zeros":         le.Uint16(b[18:]) == 0 && le.Uint64(b[52:]) == 0,
			"second table":  bytes.Equal(b[at+size:at+size+4*6], table),
			"second header": bytes.Equal(b[at+size+4*6:], b[:64]),
		} {
			if !ok {
				t.Errorf("shard %d: %s is not where it should be", i, name)
			}
		}
		for j := range 6 {
			block := b[at+64*j : min(at+64*(j+1), at+size)]
			if le.Uint32(table[4*j:]) != sum(block) {
				t.Errorf("shard %d: entry %d is not the checksum of its block", i, j)
			}
		}
		if i < 3 && !bytes.HasPrefix(append(data[size*i:], 0, 0), b[at:at+size]) {
			t.Errorf("the payload of shard %d is not bytes %d to %d of the file", i, size*i, size*(i+1)-1)
		}
	}
}

func TestSizes(t *testing.T) {
	c := newCoder(t)
	for _, size := range []int{1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 257, 64 * 4 * 10, 5000} {
		for _, k := range []int{1, 2, 4, 9} {
			data := random(size, uint64(size))
			dir, set := encode(t, c, data, k, 2, Vandermonde)
			if set.Payload() != int64((size+k-1)/k) {
				t.Errorf("%d bytes over %d: payload of %d", size, k, set.Payload())
			}
			for _, lost := range []int{0, k} {
				gemmtest.Must(t, os.Remove(filepath.Join(dir, FileName(lost))))
			}
			out := filepath.Join(t.TempDir(), "out")
			if _, err := c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: out}); err != nil ||
				!bytes.Equal(read(t, out), data) {
				t.Errorf("%d bytes over %d do not come back: %v", size, k, err)
			}
		}
	}
}

// TestOtherBlocks: blocks are those that the header says, whatever this program would make.
func TestOtherBlocks(t *testing.T) {
	c := newCoder(t)
	data := random(100000, 1)
	for _, block := range []int{1, 100, defaultBlock} {
		c.block = block
		dir, _ := encode(t, c, data, 3, 1, Vandermonde)
		gemmtest.Must(t, os.Remove(filepath.Join(dir, FileName(0))))
		c.block = 64
		out := filepath.Join(t.TempDir(), "out")
		if _, err := c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: out, Repair: true}); err != nil ||
			!bytes.Equal(read(t, out), data) {
			t.Errorf("blocks of %d bytes: %v", block, err)
		}
	}
	c.block = defaultBlock + 1
	dir, _ := encode(t, c, data, 3, 1, Vandermonde)
	if _, err := c.Verify(t.Context(), dir); err == nil {
		t.Error("blocks are read that are larger than the most")
	}
}

// TestEveryBit flips each bit of a shard, one after the other.
func TestEveryBit(t *testing.T) {
	c := newCoder(t)
	dir, set := encode(t, c, random(150, 1), 1, 1, Vandermonde)
	name := filepath.Join(dir, FileName(1))
	sound := read(t, name)
	step := 1
	if testing.Short() {
		step = 7
	}
	for bit := 0; bit < 8*len(sound); bit += step {
		flipped := slices.Clone(sound)
		flipped[bit/8] ^= 1 << (bit % 8)
		write(t, dir, FileName(1), flipped)
		r, err := c.Verify(t.Context(), dir)
		if err != nil || r.Set != set || r.Shards[1].State != Damaged || r.Shards[0].State != Good {
			t.Fatalf("bit %d of byte %d is flipped: %+v, %v", bit%8, bit/8, r, err)
		}
	}
	for size := range sound {
		write(t, dir, FileName(1), sound[:size])
		if r, err := c.Verify(t.Context(), dir); err != nil || r.Shards[1].State != Truncated {
			t.Fatalf("cut to %d bytes: %+v, %v", size, r, err)
		}
	}
	write(t, dir, FileName(1), append(slices.Clone(sound), 0))
	if r, err := c.Verify(t.Context(), dir); err != nil || r.Shards[1].State != Damaged {
		t.Fatalf("a byte longer: %+v, %v", r, err)
	}
}

// TestFaults damages the shards of a 4+2 code in several ways. Each must be reported.
func TestFaults(t *testing.T) {
	c := newCoder(t)
	data := random(4000, 1)
	other, _ := encode(t, c, random(4000, 2), 4, 2, Vandermonde)
	rename := func(t *testing.T, dir string, pairs ...string) {
		t.Helper()
		for i := 0; i < len(pairs); i += 2 {
			gemmtest.Must(t, os.Rename(filepath.Join(dir, pairs[i]), filepath.Join(dir, pairs[i+1])))
		}
	}
	remove := func(t *testing.T, dir string, lost ...int) {
		t.Helper()
		for _, i := range lost {
			gemmtest.Must(t, os.Remove(filepath.Join(dir, FileName(i))))
		}
	}
	for name, test := range map[string]struct {
		harm    func(t *testing.T, dir string)
		lost    []int
		state   State  // of the first that is lost
		warning string // part of one
		verify  string // part of the error
		repair  string // part of the error
		exists  bool   // the error of the repair is an ErrExists
	}{
		"nothing": {harm: func(*testing.T, string) {}},
		"missing": {harm: func(t *testing.T, dir string) { remove(t, dir, 0, 5) }, lost: []int{0, 5}, state: Missing},
		"too few": {harm: func(t *testing.T, dir string) { remove(t, dir, 0, 1, 3) }, lost: []int{0, 1, 3}, state: Missing,
			repair: "4 shards are needed and 3 are good (2,4-5): copy 1 more of 0-1,3"},
		"swapped": {harm: func(t *testing.T, dir string) {
			rename(t, dir, FileName(1), "x", FileName(2), FileName(1), "x", FileName(2))
		}, warning: "001.shard is shard 2"},
		"renamed": {harm: func(t *testing.T, dir string) { rename(t, dir, FileName(1), "copy.bin") },
			warning: "copy.bin is shard 1 by its header"},
		"in a lost place": {harm: func(t *testing.T, dir string) {
			remove(t, dir, 1)
			rename(t, dir, FileName(2), FileName(1))
		},
			lost: []int{1}, state: Missing, warning: "001.shard is shard 2", repair: "rename it to 002.shard"},
		"twice": {harm: func(t *testing.T, dir string) { write(t, dir, "000.copy", read(t, dir, FileName(3))) },
			warning: "shard 3 is there 2 times: 003.shard is used"},
		"other files": {harm: func(t *testing.T, dir string) {
			write(t, dir, "README", []byte("gemm"))
			write(t, dir, ".000.shard.gemm-0123456789abcdef", read(t, dir, FileName(0)))
		}},
		"header gone": {harm: func(t *testing.T, dir string) {
			b := read(t, dir, FileName(3))
			clear(b[:64])
			write(t, dir, FileName(3), b)
		}, lost: []int{3}, state: Damaged},
		"empty": {harm: func(t *testing.T, dir string) { write(t, dir, FileName(3), nil) }, lost: []int{3},
			state: Truncated},
		"a folder": {harm: func(t *testing.T, dir string) {
			remove(t, dir, 3)
			_ = os.Mkdir(filepath.Join(dir, FileName(3)), 0o777)
		}, lost: []int{3}, state: Unreadable, repair: "003.shard: is not a regular file"},
		"damaged, no name": {harm: func(t *testing.T, dir string) {
			b := read(t, dir, FileName(3))
			b[20]++
			b[len(b)-64+20]++
			write(t, dir, "x", b)
			remove(t, dir, 3)
		}, lost: []int{3}, state: Missing, warning: "x is damaged and of no use"},
		"foreign": {harm: func(t *testing.T, dir string) { write(t, dir, FileName(3), read(t, other, FileName(3))) },
			lost: []int{3}, state: Foreign, warning: "003.shard is shard 3 of another file, id ",
			repair: "move it away", exists: true},
		"foreign, beside": {harm: func(t *testing.T, dir string) { write(t, dir, "x", read(t, other, FileName(3))) },
			warning: "x is shard 3 of another file, id "},
		"two files": {harm: func(t *testing.T, dir string) {
			for i := range 3 {
				write(t, dir, FileName(i), read(t, other, FileName(i)))
			}
		}, verify: "shards of 2 files are mixed and it is not clear which is meant"},
		"two whole files": {harm: func(t *testing.T, dir string) {
			for i := range 4 {
				write(t, dir, FileName(10+i), read(t, other, FileName(i)))
			}
		}, verify: "has 4 shards and needs 4"},
		"no shards": {harm: func(t *testing.T, dir string) { remove(t, dir, 0, 1, 2, 3, 4, 5) },
			verify: "there are no shards"},
		"no header": {harm: func(t *testing.T, dir string) {
			remove(t, dir, 0, 1, 2, 3, 4)
			write(t, dir, FileName(5), make([]byte, 2000))
		},
			verify: "none of the 1 shards has an intact header"},
		"another's header": {harm: func(t *testing.T, dir string) {
			write(t, dir, FileName(3), append(read(t, dir, FileName(1))[:64], read(t, dir, FileName(3))[64:]...))
			remove(t, dir, 1)
		}, lost: []int{1, 3}, state: Damaged},
		"newer": {harm: func(t *testing.T, dir string) {
			b := read(t, dir, FileName(3))
			b[8] = 3
			binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
			write(t, dir, FileName(3), b)
		}, lost: []int{3}, state: Damaged},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := encode(t, c, data, 4, 2, Vandermonde)
			test.harm(t, dir)
			r, err := c.Verify(t.Context(), dir)
			if test.verify != "" {
				if err == nil || !strings.Contains(err.Error(), test.verify) {
					t.Errorf("got %v, want an error with %q", err, test.verify)
				}
				return
			}
			gemmtest.Must(t, err)
			if lost := r.Faulty(); !slices.Equal(lost, test.lost) {
				t.Errorf("lost are %v, want %v: %+v", lost, test.lost, r.Shards)
			} else if len(lost) > 0 && (r.Shards[lost[0]].State != test.state || r.Shards[lost[0]].Reason == "") {
				t.Errorf("shard %d is %+v, want it %s, with a reason", lost[0], r.Shards[lost[0]], test.state)
			}
			if warned := strings.Join(r.Warnings, "\n"); test.warning == "" && warned != "" ||
				!strings.Contains(warned, test.warning) {
				t.Errorf("warnings are %q, want %q", warned, test.warning)
			}
			before := names(t, dir)
			out := filepath.Join(t.TempDir(), "out")
			_, err = c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: out, Repair: true})
			if test.repair != "" {
				if err == nil || !strings.Contains(err.Error(), test.repair) {
					t.Errorf("got %v, want an error with %q", err, test.repair)
				}
				if after := names(t, dir); !slices.Equal(after, before) {
					t.Errorf("an error left %v of %v", after, before)
				}
				if errors.Is(err, ErrExists) != test.exists {
					t.Errorf("%v: is it an ErrExists? want %v", err, test.exists)
				}
				if !test.exists {
					return
				}
				_, err = c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: out, Repair: true, Force: true})
			}
			if err != nil || !bytes.Equal(read(t, out), data) {
				t.Errorf("the file does not come back: %v", err)
			}
			if r, err := c.Verify(t.Context(), dir); err != nil || len(r.Faulty()) > 0 {
				t.Errorf("after the repair: %+v, %v", r, err)
			}
		})
	}
}

// TestRefusals: nothing is written where something is in the way.
func TestRefusals(t *testing.T) {
	c := newCoder(t)
	top := t.TempDir()
	file := write(t, top, "file", random(1000, 1))
	empty := write(t, top, "empty", nil)
	there := filepath.Join(top, "there")
	standard := Encoding{File: file, Dir: there, Data: 4, Parity: 2, Matrix: Vandermonde}
	gemmtest.Must(t, failure(c.Encode(t.Context(), standard)))
	shard0 := filepath.Join(there, FileName(0))
	link := filepath.Join(top, "link")
	if err := os.Symlink(shard0, link); err != nil {
		t.Skip(err)
	}
	before := append(names(t, top), names(t, there)...)
	for want, change := range map[string]func(e *Encoding){
		"there: a set of shards exists already, 6 with 000.shard": func(*Encoding) {},
		"shard: is to be encoded, and replaced":                   func(e *Encoding) { e.File, e.Force = shard0, true },
		"link: is to be encoded, and replaced":                    func(e *Encoding) { e.File, e.Force = link, true },
		"empty: is empty":                                         func(e *Encoding) { e.File = empty },
		"absent: cannot be read: no such file":                    func(e *Encoding) { e.File = top + "/absent" },
		"there: is a folder: pack it":                             func(e *Encoding) { e.File = there },
		"file: is not a folder":                                   func(e *Encoding) { e.Dir = file },
		"absent/shards: cannot be made: no such file": func(e *Encoding) {
			e.Dir = filepath.Join(top, "absent", "shards")
		},
		"200 data and 57 parity shards": func(e *Encoding) { e.Data, e.Parity = 200, 57 },
	} {
		e := standard
		change(&e)
		if _, err := c.Encode(t.Context(), e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for want, rec := range map[string]Reconstruction{
		"file: exists already":              {Dir: there, File: file},
		"there: is not a regular file":      {Dir: there, File: there, Force: true},
		"000.shard: is one of the shards":   {Dir: there, File: shard0, Force: true},
		"link: is one of the shards":        {Dir: there, File: link, Force: true},
		"006.shard: is the name of a shard": {Dir: there, File: filepath.Join(there, FileName(6))},
		"absent: cannot be read: no such file": {Dir: filepath.Join(top, "absent"),
			File: filepath.Join(top, "out")},
		"out: cannot be written: no such file":               {Dir: there, File: filepath.Join(top, "absent", "out")},
		"file: is not a folder: name the one that the shard": {Dir: file, File: filepath.Join(top, "out")},
	} {
		if _, err := c.Reconstruct(t.Context(), rec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if after := append(names(t, top), names(t, there)...); !slices.Equal(after, before) {
		t.Errorf("refusals left %v of %v", after, before)
	}
}

// TestForce checks what --force removes: older shards, also of a code with more shards, and files
// that a killed process left. Files that are not shards stay, whatever their names are, and so does
// a copy of a shard under another name.
func TestForce(t *testing.T) {
	c := newCoder(t)
	data := random(1000, 1)
	dir, before := encode(t, c, random(5000, 2), 4, 5, Vandermonde)
	write(t, dir, "notes", []byte("mine"))
	write(t, dir, "copy", read(t, dir, FileName(1)))
	write(t, dir, "200.shard", []byte("mine"))
	write(t, dir, ".001.shard.gemm-0123456789abcdef", read(t, dir, FileName(1)))
	file := write(t, t.TempDir(), "file", data)
	set, err := c.Encode(t.Context(), Encoding{File: file, Dir: dir, Data: 2, Parity: 1, Matrix: Cauchy, Force: true})
	if err != nil || set.ID == before.ID {
		t.Fatalf("%v, %v", set, err)
	}
	if got, want := names(t, dir),
		[]string{FileName(0), FileName(1), FileName(2), "200.shard", "copy", "notes"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: file, Force: true}); err != nil ||
		!bytes.Equal(read(t, file), data) {
		t.Errorf("the file is not replaced by itself: %v", err)
	}
}

// TestFolderInUse: while a process writes shards in a folder, no other does.
func TestFolderInUse(t *testing.T) {
	c := newCoder(t)
	dir, _ := encode(t, c, random(1000, 1), 2, 1, Vandermonde)
	file := write(t, t.TempDir(), "file", random(1000, 2))
	gemmtest.Must(t, os.Remove(filepath.Join(dir, FileName(1))))
	lock, err := lockFolder(dir)
	gemmtest.Must(t, err)
	e := Encoding{File: file, Dir: dir, Data: 2, Parity: 1, Matrix: Vandermonde, Force: true}
	rec := Reconstruction{Dir: dir, Repair: true}
	if _, err := c.Encode(t.Context(), e); !errors.Is(err, output.ErrInUse) {
		t.Errorf("encoded into a folder in use: %v", err)
	}
	if _, err := c.Reconstruct(t.Context(), rec); !errors.Is(err, output.ErrInUse) {
		t.Errorf("repaired in a folder in use: %v", err)
	}
	if r, err := c.Verify(t.Context(), dir); err != nil || len(r.Faulty()) != 1 {
		t.Errorf("verified: %v, want shard 1 lost", err)
	}
	lock.Release()
	if _, err := c.Reconstruct(t.Context(), rec); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); len(left) != 3 {
		t.Errorf("left are %v", left)
	}
}

// TestSweep: a repair takes away what killed processes left of what it writes, and nothing
// else.
func TestSweep(t *testing.T) {
	c := newCoder(t)
	dir, _ := encode(t, c, random(1000, 1), 2, 1, Vandermonde)
	top := t.TempDir()
	write(t, dir, ".001.shard.gemm-0123456789abcdef", nil)
	write(t, dir, ".other.gemm-0123456789abcdef", nil)
	write(t, top, ".out.gemm-0123456789abcdef", nil)
	write(t, top, ".output.gemm-0123456789abcdef", nil)
	gemmtest.Must(t, failure(c.Reconstruct(t.Context(),
		Reconstruction{Dir: dir, File: filepath.Join(top, "out"), Repair: true})))
	if got, want := names(t, dir),
		[]string{".other.gemm-0123456789abcdef", FileName(0), FileName(1), FileName(2)}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := names(t, top), []string{".output.gemm-0123456789abcdef", "out"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestPermissions: shards of a private file are private, and so is what is made of them.
func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	c := newCoder(t)
	top := t.TempDir()
	file := write(t, top, "file", random(100, 1))
	gemmtest.Must(t, os.Chmod(file, 0o600))
	dir, out := filepath.Join(top, "shards"), filepath.Join(top, "out")
	gemmtest.Must(t, failure(c.Encode(t.Context(),
		Encoding{File: file, Dir: dir, Data: 2, Parity: 1, Matrix: Vandermonde})))
	gemmtest.Must(t, os.Remove(filepath.Join(dir, FileName(0))))
	gemmtest.Must(t, failure(c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: out, Repair: true})))
	for _, name := range []string{filepath.Join(dir, FileName(0)), filepath.Join(dir, FileName(2)), out} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// changing is a multiplier during whose work something happens.
type changing struct {
	gemm.Multiplier[gf256.Elem]
	happens func()
}

func (m changing) Multiply(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
	m.happens()
	return m.Multiplier.Multiply(ctx, c, a, b)
}

// TestMidway: what happens while a coder works ends it, and nothing is left.
func TestMidway(t *testing.T) {
	c := newCoder(t)
	plain := c.Multiplier
	top := t.TempDir()
	file := write(t, top, "file", random(50000, 1))
	dir := filepath.Join(top, "shards")
	e := Encoding{File: file, Dir: dir, Data: 4, Parity: 2, Matrix: Vandermonde}
	errBroken := errors.New("broken")
	for want, happens := range map[error]func(cancel context.CancelFunc){
		context.Canceled: func(cancel context.CancelFunc) { cancel() },
		errBroken:        nil,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		c.Multiplier = failing{errBroken}
		if happens != nil {
			c.Multiplier = changing{plain, func() { happens(cancel) }}
		}
		if _, err := c.Encode(ctx, e); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		cancel()
	}
	c.Multiplier = failing{nil} // writes nothing, and says that it did
	if _, err := c.Encode(t.Context(), e); !errors.Is(err, errProduct) {
		t.Errorf("a wrong product: %v", err)
	}
	for _, size := range []int64{10, 60000} {
		c.Multiplier = changing{plain, func() { _ = os.Truncate(file, size) }}
		if _, err := c.Encode(t.Context(), e); err == nil ||
			!strings.Contains(err.Error(), "file: was changed while it was read") {
			t.Errorf("changed to %d bytes: %v", size, err)
		}
		write(t, top, "file", random(50000, 1))
	}
	if left := names(t, top); !slices.Equal(left, []string{"file"}) {
		t.Errorf("left are %v", left)
	}

	c.Multiplier = plain
	gemmtest.Must(t, failure(c.Encode(t.Context(), e)))
	gemmtest.Must(t, os.Remove(filepath.Join(dir, FileName(0))))
	before := names(t, dir)
	last := read(t, dir, FileName(4))
	last[len(last)-1000]++ // of a block that is not read yet
	c.Multiplier = changing{plain, func() { write(t, dir, FileName(4), last) }}
	if _, err := c.Reconstruct(t.Context(),
		Reconstruction{Dir: dir, File: filepath.Join(top, "out"), Repair: true}); err == nil ||
		!strings.Contains(err.Error(), "004.shard: has changed since it was verified") {
		t.Errorf("a shard that changes after it was verified: %v", err)
	}
	if left := append(names(t, top), names(t, dir)...); !slices.Equal(left,
		append([]string{"file", "shards"}, before...)) {
		t.Errorf("left are %v", left)
	}
}

// failing is a multiplier that does not work.
type failing struct{ err error }

func (m failing) Multiply(context.Context, gemm.Matrix[gf256.Elem], gemm.Matrix[gf256.Elem],
	gemm.Matrix[gf256.Elem]) error {
	return m.err
}

// TestProgress: what is done grows to all that there is.
func TestProgress(t *testing.T) {
	c := newCoder(t)
	seen := map[string]int64{}
	totals := map[string]int64{}
	c.Progress = func(what string, done, total int64) {
		if done <= seen[what] {
			t.Errorf("%s: %d after %d", what, done, seen[what])
		}
		seen[what], totals[what] = done, total
	}
	dir, set := encode(t, c, random(10000, 1), 4, 2, Vandermonde)
	gemmtest.Must(t, failure(c.Reconstruct(t.Context(),
		Reconstruction{Dir: dir, File: filepath.Join(t.TempDir(), "out")})))
	for what, want := range map[string]int64{"encoding": 4 * set.Payload(), "verifying": 6 * set.Payload(),
		"reconstructing": 4 * set.Payload()} {
		if seen[what] != want || totals[what] != want {
			t.Errorf("%s: %d of %d, want %d", what, seen[what], totals[what], want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]int{"000.shard": 0, "255.shard": 255, "256.shard": -1, "1.shard": -1,
		"-01.shard": -1, "001": -1, "001.shard.bak": -1, "+01.shard": -1} {
		if i, ok := index(name); ok != (want >= 0) || ok && i != want {
			t.Errorf("%s is shard %d, %v", name, i, ok)
		}
	}
	for _, m := range []Matrix{Vandermonde, Cauchy} {
		if got, err := ParseMatrix(m.String()); err != nil || got != m {
			t.Errorf("%v is %v, %v", m, got, err)
		}
	}
	if _, err := ParseMatrix("cauch"); err == nil {
		t.Error("an unknown matrix is known")
	}
}

// memoryFolder is a file system in memory, on Linux.
const memoryFolder = "/dev/shm"

// FuzzErasures encodes a file and damages some of its shards. If enough shards are intact, the file
// must come back; if not, there must be an error.
func FuzzErasures(f *testing.F) {
	if info, err := os.Stat(memoryFolder); err == nil && info.IsDir() {
		f.Setenv("TMPDIR", memoryFolder) // most of the time would go into synchronising
	}
	f.Add(uint8(4), uint8(2), uint16(1000), uint16(64), []byte{0, 5}, false)
	f.Add(uint8(200), uint8(56), uint16(9999), uint16(7), []byte{1, 2, 3, 250}, true)
	f.Add(uint8(2), uint8(1), uint16(1), uint16(1), []byte{0, 1, 2}, true)
	f.Add(uint8(4), uint8(2), uint16(5000), uint16(64), []byte{9, 0, 1, 9, 2, 3, 9, 4, 5}, false)
	f.Fuzz(func(t *testing.T, k, m uint8, size, block uint16, spoilt []byte, cauchy bool) {
		if k == 0 || m == 0 || int(k)+int(m) > 256 || size == 0 || block == 0 {
			t.Skip()
		}
		c := newCoder(t)
		c.block = int(block)
		matrix := Vandermonde
		if cauchy {
			matrix = Cauchy
		}
		data := random(int(size), uint64(size))
		dir, set := encode(t, c, data, int(k), int(m), matrix)
		bad, spoiled := make([]int, set.Stripes()), map[int]bool{} // bad blocks of each stripe
		start := set.payloadAt()
		for n, b := range spoilt {
			i := int(b) % set.Shards()
			if spoiled[i] {
				continue
			}
			spoiled[i] = true
			whole := read(t, dir, FileName(i))
			from, to := int64(0), set.Stripes() // the bad blocks
			at := int64(n * 31 % len(whole))
			switch n % 3 {
			case 0:
				gemmtest.Must(t, os.Remove(filepath.Join(dir, FileName(i))))
			case 1:
				whole[at] ^= 1 << (b % 8)
				write(t, dir, FileName(i), whole)
				if at -= start; at < 0 || at >= set.Payload() {
					to = 0 // there are copies of what is not payload
				} else {
					from, to = at/int64(block), at/int64(block)+1
				}
			case 2:
				write(t, dir, FileName(i), whole[:at])
				switch at -= start; {
				case at >= set.Payload():
					to = 0
				case at >= 0:
					from = at / int64(block)
				}
			}
			for s := from; s < to; s++ {
				bad[s]++
			}
		}
		out := filepath.Join(t.TempDir(), "out")
		_, err := c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: out, Repair: true})
		if slices.Max(bad) > int(m) || len(spoiled) == set.Shards() {
			_, missing := os.Stat(out)
			if err == nil && len(spoiled) < set.Shards() || err != nil && !errors.Is(missing, fs.ErrNotExist) {
				t.Fatalf("%d+%d: %v blocks of the stripes are bad, and the file comes back: %v", k, m, bad, err)
			}
			return
		}
		if err != nil || !bytes.Equal(read(t, out), data) {
			t.Fatalf("%d+%d: %v blocks of the stripes are bad, and the file does not come back: %v", k, m, bad, err)
		}
		encoder := theirs(t, int(k), int(m), matrix)
		shards := make([][]byte, set.Shards())
		for i := range shards {
			shards[i] = payload(t, dir, i, set)
		}
		if ok, err := encoder.Verify(shards); err != nil || !ok {
			t.Fatalf("klauspost does not take the repaired shards: %v", err)
		}
	})
}
