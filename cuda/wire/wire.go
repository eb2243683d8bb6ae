// Package wire carries one product between gemm and the GPU program. gemm-cuda multiply reads a
// request from its standard input and writes a reply to its standard output. Each is a line of JSON
// followed by elements, row by row, little-endian and without gaps. A request has the elements of A
// and B, and of C if beta is not 0. A reply without an error has those of C.
package wire

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/child"
)

// protocol is the version of request and reply.
const protocol = 1

// Product is C ← α·A·B + β·C as the variant computes it; C ← A·B in GF(2⁸).
type Product[T gemm.Element] struct {
	Variant     string
	Params      gemm.Params
	Alpha, Beta float64
	A, B, C     gemm.Matrix[T]
}

// request is the line that the operands follow.
type request struct {
	Protocol int         `json:"protocol"`
	Variant  string      `json:"variant"`
	Type     string      `json:"type"`
	Params   gemm.Params `json:"params"`
	gemm.Shape
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
}

// reply is the line that the result follows, unless there is an error.
type reply struct {
	Error string `json:"error,omitempty"`
	// Unavailable says that the error wraps gemm.ErrUnavailable.
	Unavailable bool `json:"unavailable,omitempty"`
}

// stopTime is how long the program has to free the device where the context ends.
const stopTime = 5 * time.Second

// Multiply has the command, which was made with the context and answers as Serve does,
// compute p into p.C.
func Multiply[T gemm.Element](ctx context.Context, cmd *exec.Cmd, p Product[T]) error {
	if err := gemm.CheckShapes(p.C, p.A, p.B); err != nil {
		return err
	}
	if p.C.Rows == 0 || p.C.Cols == 0 {
		return ctx.Err() // there is nothing to compute
	}
	requests, asking := io.Pipe()
	answering, replies := io.Pipe()
	var stderr child.Tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = requests, replies, &stderr
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		asking.CloseWithError(ask(asking, p))
	}()
	answered := make(chan error, 1)
	go func() {
		err := answer(answering, p.C)
		_, _ = io.Copy(io.Discard, answering) // so that the program can end
		answered <- err
	}()
	ended := child.Run(cmd, stopTime)
	_ = requests.Close()
	_ = replies.Close()
	<-asked // the operands are the caller's again
	err := <-answered
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil || errors.Is(err, errAnswered):
		return err
	case ended != nil:
		name := filepath.Base(cmd.Path)
		if cmd.ProcessState == nil {
			return gemm.Unavailablef("%s cannot be started: %w", name, ended)
		}
		return errors.New(strings.TrimSuffix(fmt.Sprintf("%s ended with %v: %s", name, ended, stderr.Reason()), ": "))
	}
	return fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err)
}

// errAnswered: the other side computed nothing and said why.
var errAnswered = errors.New("the product failed")

// ask writes the request.
func ask[T gemm.Element](to io.Writer, p Product[T]) error {
	w := bufio.NewWriter(to)
	head := request{protocol, p.Variant, gemm.TypeOf[T]().Name, p.Params,
		gemm.Shape{M: p.C.Rows, N: p.C.Cols, K: p.A.Cols}, p.Alpha, p.Beta}
	if err := json.NewEncoder(w).Encode(head); err != nil {
		return err
	}
	err := errors.Join(write(w, p.A), write(w, p.B))
	if p.Beta != 0 {
		err = errors.Join(err, write(w, p.C))
	}
	return errors.Join(err, w.Flush())
}

// answer reads the reply into c.
func answer[T gemm.Element](from io.Reader, c gemm.Matrix[T]) error {
	r := bufio.NewReader(from)
	var head reply
	if err := line(r, &head); err != nil {
		return fmt.Errorf("the reply: %w", err)
	}
	if head.Error != "" {
		err := said{head.Error, errAnswered}
		if head.Unavailable {
			return gemm.Unavailablef("%w", err)
		}
		return err
	}
	if err := read(r, c); err != nil {
		return fmt.Errorf("the result: %w", err)
	}
	return nil
}

// said is an error in the words of the other side.
type said struct {
	text string
	is   error
}

func (s said) Error() string { return s.text }
func (s said) Unwrap() error { return s.is }

// Serve computes the product that comes in with one of the variants and writes it out. What
// is wrong with the product is in the reply; the error is one of reading or writing.
func Serve(ctx context.Context, in io.Reader, out io.Writer, variants []gemm.Variant) error {
	r, w := bufio.NewReader(in), bufio.NewWriter(out)
	var head request
	if err := cmp.Or(line(r, &head), head.Params.Whole()); err != nil {
		return fmt.Errorf("the request on standard input: %w", err)
	}
	if head.Protocol != protocol {
		return fmt.Errorf("the request is of protocol %d, this program speaks %d: build both from one source",
			head.Protocol, protocol)
	}
	v, err := gemm.Lookup(variants, head.Variant)
	if err != nil {
		return fmt.Errorf("there is no variant %q: build both programs from one source", head.Variant)
	}
	if gemm.TypeNamed(head.Type).Size == 0 {
		return errors.Join(fmt.Errorf("there is no type %q", head.Type), w.Flush())
	}
	err = gemm.ByType(head.Type, serveNumber[float64], serveNumber[float32], serveNumber[half.F16],
		serveNumber[half.BF16], serveField)(ctx, r, w, v, head)
	return errors.Join(err, w.Flush())
}

func serveNumber[T gemm.Number](ctx context.Context, r *bufio.Reader, w *bufio.Writer, v gemm.Variant,
	head request) error {
	return serve(ctx, r, w, v, head, full[T])
}

func serveField(ctx context.Context, r *bufio.Reader, w *bufio.Writer, v gemm.Variant, head request) error {
	return serve(ctx, r, w, v, head, plain)
}

// blasOf computes the product of a request that is more than C = A·B.
type blasOf[T gemm.Element] func(ctx context.Context, v gemm.Variant, head request, c, a, b gemm.Matrix[T]) error

func serve[T gemm.Element](ctx context.Context, r *bufio.Reader, w *bufio.Writer, v gemm.Variant, head request,
	more blasOf[T]) error {
	for _, d := range [][2]int{{head.M, head.K}, {head.K, head.N}, {head.M, head.N}} {
		if over, n := bits.Mul64(uint64(d[0]), uint64(d[1])); d[0] < 0 || d[1] < 0 || over != 0 || n > math.MaxInt/8 {
			return fmt.Errorf("the request is of %d×%d×%d elements", head.M, head.N, head.K)
		}
	}
	a, b, c := gemm.NewMatrix[T](head.M, head.K), gemm.NewMatrix[T](head.K, head.N), gemm.NewMatrix[T](head.M, head.N)
	operands := []gemm.Matrix[T]{a, b}
	if head.Beta != 0 {
		operands = append(operands, c)
	}
	for _, x := range operands {
		if err := read(r, x); err != nil {
			return fmt.Errorf("the operands on standard input: %w", err)
		}
	}
	var answer reply
	if err := compute(ctx, v, head, c, a, b, more); err != nil {
		answer.Error = gemm.Why(err)
		answer.Unavailable = errors.Is(err, gemm.ErrUnavailable)
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil || answer.Error != "" {
		return err
	}
	return write(w, c)
}

// compute has the variant compute what head says.
func compute[T gemm.Element](ctx context.Context, v gemm.Variant, head request, c, a, b gemm.Matrix[T],
	more blasOf[T]) error {
	if head.Alpha != 1 || head.Beta != 0 {
		return more(ctx, v, head, c, a, b)
	}
	m, err := gemm.New[T](v, head.Params)
	if err != nil {
		return err
	}
	return m.Multiply(ctx, c, a, b)
}

// full is the operation in floating point.
func full[T gemm.Number](ctx context.Context, v gemm.Variant, head request, c, a, b gemm.Matrix[T]) error {
	g, err := gemm.NewGemmer[T](v, head.Params)
	if err != nil {
		return err
	}
	alpha, beta := gemm.FromFloat64[T](head.Alpha), gemm.FromFloat64[T](head.Beta)
	return g.Gemm(ctx, blas.NoTrans, blas.NoTrans, alpha, a, b, beta, c)
}

// plain is all there is of the operation in GF(2⁸).
func plain(context.Context, gemm.Variant, request, gemm.Matrix[gf256.Elem], gemm.Matrix[gf256.Elem],
	gemm.Matrix[gf256.Elem]) error {
	return errors.New("gf256 has C = A*B only: there are no alpha and beta")
}

// mostHead is the length that the line of a request or a reply can have.
const mostHead = 1 << 16

// line reads a line of JSON into v.
func line(r *bufio.Reader, v any) error {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil:
			return json.Unmarshal(text, v)
		case len(text) > mostHead:
			return fmt.Errorf("its first line is longer than %d bytes", mostHead)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// elements returns the row as package binary takes it: elements of GF(2⁸) are laid out as bytes, and half precision as
// words.
func elements[T gemm.Element](row []T) any {
	switch row := any(row).(type) {
	case []gf256.Elem:
		return gf256.Bytes(row)
	case []half.F16:
		return half.Words(row)
	case []half.BF16:
		return half.Words(row)
	}
	return row
}

func write[T gemm.Element](w io.Writer, x gemm.Matrix[T]) error {
	if x.Cols == 0 {
		return nil // however many rows there are
	}
	for i := range x.Rows {
		if err := binary.Write(w, binary.LittleEndian, elements(x.Row(i))); err != nil {
			return err
		}
	}
	return nil
}

func read[T gemm.Element](r io.Reader, x gemm.Matrix[T]) error {
	if x.Cols == 0 {
		return nil // however many rows there are
	}
	for i := range x.Rows {
		if err := binary.Read(r, binary.LittleEndian, elements(x.Row(i))); err != nil {
			return err
		}
	}
	return nil
}
