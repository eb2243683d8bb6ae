package ipc

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Frame is a message between processes of this program, without its bytes: a line, which the bytes follow.
//
//	WORD LENGTH TEXT
//
// WORD is the kind of the message, in letters a to z and hyphens. TEXT is JSON or words, without newlines and NUL
// bytes; it may be empty. LENGTH is the number of bytes behind the newline, such as the elements of a matrix; mostly it
// is 0.
type Frame struct {
	Word, Text string
	Length     int64 // of the bytes that follow
}

// MaxLine is the length of a line at most.
const MaxLine = 16 << 20

// FormatError: a line is not a frame, or a message cannot be one.
type FormatError struct{ Line string }

// Error implements error.
func (w FormatError) Error() string { return Quote(w.Line) + " is not a frame" }

// Quote quotes a line, or its beginning.
func Quote(line string) string {
	const most = 120
	if len(line) > most {
		return fmt.Sprintf("%q…", line[:most])
	}
	return strconv.Quote(line)
}

// room is the size of buffers: what a pipe holds.
const room = 64 << 10

// Writer writes frames. One goroutine at a time may call its methods.
type Writer struct{ out *bufio.Writer }

// NewWriter returns a writer of frames to out.
func NewWriter(out io.Writer) Writer { return Writer{bufio.NewWriterSize(out, room)} }

// Send writes a frame, whose bytes are in several places. It writes nothing if the error is a FormatError.
func (w Writer) Send(word, text string, data ...[]byte) error {
	if !valid(word, text) {
		return FormatError{word + " " + text}
	}
	length := 0
	for _, x := range data {
		length += len(x)
	}
	fmt.Fprintf(w.out, "%s %d %s\n", word, length, text)
	for _, x := range data {
		_, _ = w.out.Write(x) // Flush has the error
	}
	return w.out.Flush()
}

// Encode writes a frame with the JSON of v and no bytes.
func (w Writer) Encode(word string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.Send(word, string(text))
}

// Reader reads frames. It is an io.Reader of the bytes of the last one.
type Reader struct {
	in   *bufio.Reader
	left int64 // bytes of the last frame
}

// NewReader returns a reader of the frames in a stream.
func NewReader(in io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(in, room)} }

// Read implements io.Reader.
func (r *Reader) Read(data []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.in.Read(data[:min(int64(len(data)), r.left)])
	if r.left -= int64(n); errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Next returns the next frame, and skips bytes of the last one that have not been read. The error is io.EOF if the
// stream ends behind a frame, wraps io.ErrUnexpectedEOF if it ends within one, and is a FormatError if there is another
// line. After an error there is no next frame.
func (r *Reader) Next() (f Frame, err error) {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return f, err
	}
	line, err := r.line()
	switch {
	case errors.Is(err, io.EOF) && line != "":
		return f, fmt.Errorf("the end is in a line, %s: %w", Quote(line), io.ErrUnexpectedEOF)
	case err != nil:
		return f, err
	}
	word, rest, _ := strings.Cut(line, " ")
	length, text, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseUint(length, 10, 63)
	if err != nil || !valid(word, text) {
		return f, FormatError{line}
	}
	r.left = int64(n)
	return Frame{word, text, r.left}, nil
}

func valid(word, text string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") == "" && !strings.ContainsAny(text, "\n\x00")
}

// line returns a line without its end, and what is left of the stream with io.EOF if that is not in it.
func (r *Reader) line() (string, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return string(line[:len(line)-1]), nil
		case len(line) > MaxLine:
			return "", FormatError{string(line[:room])}
		case !errors.Is(err, bufio.ErrBufferFull):
			return string(line), err
		}
	}
}

// Decode returns the word of the next frame, and stores what its JSON has in v.
func (r *Reader) Decode(v any) (word string, err error) {
	f, err := r.Next()
	if err == nil {
		err = json.Unmarshal([]byte(f.Text), v)
	}
	return f.Word, err
}

// Received is a frame, or the error at the end of its stream.
type Received struct {
	Frame
	Err error
}

// Pipe returns a writer, which must be closed, such as the standard output of a process, and the frames that are
// written to it, without their bytes. The last one has the error of Next. Frames after it, or after done, are dropped.
func Pipe(done <-chan struct{}) (io.WriteCloser, <-chan Received) {
	in, out := io.Pipe()
	to := make(chan Received)
	go func() {
		defer io.Copy(io.Discard, in)
		for r := NewReader(in); ; {
			f, err := r.Next()
			select {
			case to <- Received{f, err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out, to
}
