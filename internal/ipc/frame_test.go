package ipc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// read returns the frames of a stream with the beginning of their bytes, and the error at its end.
func read(in io.Reader) (all []string, err error) {
	for r := NewReader(in); ; {
		f, err := r.Next()
		data, end := io.ReadAll(io.LimitReader(r, 100))
		if err != nil || end != nil {
			return all, errors.Join(err, end)
		}
		all = append(all, fmt.Sprintf("%s %d %s|%s", f.Word, f.Length, f.Text, data))
	}
}

// TestRoundTrip writes frames, and reads them in pieces of one byte and at once.
func TestRoundTrip(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	err := errors.Join(w.Send("ok", ""), w.Send("stage", "f64  2", []byte("a\n"), nil, []byte("\x00b")),
		w.Encode("fork-join", map[string]string{"a\n\x00": "b"}), w.Send("ok", "1", make([]byte, 3*room)),
		w.Send("end", " x "))
	for word, text := range map[string]string{"a": "a\n", "b": "\x00", "": "x", "c d": "", "e\n": "x"} {
		if err := w.Send(word, text, []byte("x")); !errors.As(err, &FormatError{}) {
			t.Errorf("%q %q: %v", word, text, err)
		}
	}
	const begin = "ok 0 \nstage 4 f64  2\na\n\x00bfork-join 0 {\"a\\n\\u0000\":\"b\"}\n"
	if !strings.HasPrefix(out.String(), begin) || err != nil || w.Encode("a", func() {}) == nil {
		t.Errorf("%.100q, %v", out.String(), err)
	}
	want := fmt.Sprintf("[ok 0 | stage 4 f64  2|a\n\x00b fork-join 0 {\"a\\n\\u0000\":\"b\"}| ok %d 1|%s end 0  x |] EOF",
		3*room, make([]byte, 100))
	for _, in := range []io.Reader{iotest.OneByteReader(bytes.NewReader(out.Bytes())), &out} {
		if got, err := read(in); fmt.Sprint(got, err) != want {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
}

// TestFormatErrors reads what is not a frame after one that is. Errors have at most the beginning of a line.
func TestFormatErrors(t *testing.T) {
	for text, want := range map[string]string{
		"": "EOF", "hello\n": `"hello" is not a frame`, "\n": `"" is not a frame`, "ok\n": `"ok" is not`,
		"ok x y\n": "not a", "ok -1 y\n": "not a", "ok +1 y\n": "not a", " 0 y\n": "not a", "Ok 0 y\n": "not a",
		"ok  0\n": "not a", `{"ok":0} 0` + "\n": "not a",
		"ok 99999999999999999999\n": "not a", "ok 0 a\x00b\n": `"ok 0 a\x00b" is not a frame`,
		"ok 0 a": `the end is in a line, "ok 0 a": unexpected EOF`, "ok 3 \nab": "unexpected EOF",
		strings.Repeat("x", 200) + "\n":         `"` + strings.Repeat("x", 120) + `"… is not a frame`,
		strings.Repeat("ok 0 ", MaxLine/5+room): `ok 0 "… is not a frame`,
	} {
		got, err := read(strings.NewReader("first 1 x\n." + text))
		if err == nil || len(got) != 1 || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.60q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestPipe receives what is written in pieces. Frames that are not received do not block.
func TestPipe(t *testing.T) {
	done := make(chan struct{})
	out, frames := Pipe(done)
	go func() {
		_, _ = io.Copy(out, iotest.OneByteReader(strings.NewReader("a 1 b\n.c 0\nd 0\x00\ne 0\n")))
		out.Close()
	}()
	for _, want := range []string{"{{a b 1} <nil>}", "{{c  0} <nil>}", `{{  0} "d 0\x00" is not a frame}`} {
		if got := <-frames; fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	close(done)
	lost, _ := Pipe(done)
	if _, err := io.WriteString(lost, strings.Repeat("a 0\n", room)); err != nil || lost.Close() != nil {
		t.Error(err)
	}
}

// FuzzNext reads any bytes. What was read is read again after it was written.
func FuzzNext(f *testing.F) {
	f.Add([]byte("ok 0 a\nstage 2 b\nxyok 0\n"))
	f.Add([]byte("ok 007\n1234567\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var again bytes.Buffer
		r, w := NewReader(bytes.NewReader(data)), NewWriter(&again)
		for f, err := r.Next(); err == nil; f, err = r.Next() {
			var behind []byte
			if behind, err = io.ReadAll(r); err != nil {
				break
			}
			if err := w.Send(f.Word, f.Text, behind); err != nil {
				t.Fatal(err)
			}
		}
		first, _ := read(bytes.NewReader(data))
		second, err := read(&again)
		if fmt.Sprint(second) != fmt.Sprint(first[:min(len(first), len(second))]) || len(second) < len(first)-1 ||
			!errors.Is(err, io.EOF) {
			t.Errorf("%q, then %q, %v", first, second, err)
		}
	})
}
