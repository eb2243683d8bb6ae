package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gemm"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/ipc"
	"gemm/internal/timeline"
	"gemm/serial"
)

// servedVariable has this test binary serve products with the named fault.
const servedVariable = "GEMM_TEST_WIRE"

func TestMain(m *testing.M) {
	if fault := os.Getenv(servedVariable); fault != "" {
		served(fault)
		return
	}
	os.Exit(m.Run())
}

func served(fault string) {
	end := func(text string) {
		fmt.Fprintln(os.Stderr, text)
		os.Exit(1)
	}
	variants := serial.Variants()
	request := func() { _, _ = bufio.NewReaderSize(os.Stdin, 1).ReadString('\n') }
	switch fault {
	case "early":
		end("remote.test: there is no driver")
	case "unavailable", "fails":
		for i := range variants {
			variants[i].F64 = func(gemm.Params) (gemm.Multiplier[float64], error) {
				if fault == "fails" {
					return nil, errors.New("the kernel is wrong")
				}
				return nil, gemm.Unavailablef("needs compute capability 8.0")
			}
		}
	case "streams", "unpinned":
		for i := range variants {
			variants[i].GF256 = func(gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
				return &streamer{refuses: fault == "unpinned", slots: make(chan bool, 3)}, nil
			}
		}
	case "quiet":
		request()
		os.Exit(0)
	case "dies":
		request()
		end("remote.test: the GPU has fallen off the bus")
	case "killed":
		request()
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Kill()
		}
	case "rubbish":
		fmt.Print("hello\n", strings.Repeat("x", 1<<20))
		os.Exit(0)
	case "stranger":
		fmt.Println(`reply 0 {"id":77}`)
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "hangs":
		time.Sleep(time.Minute)
	}
	if err := Serve(context.Background(), os.Stdin, os.Stdout, Shared(), variants); err != nil {
		end(err.Error())
	}
}

// streamer computes products at the same time, in memory that it has pinned.
type streamer struct {
	refuses bool
	pinned  [][]byte
	slots   chan bool
}

func (s *streamer) Multiply(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
	v, err := gemm.Lookup(serial.Variants(), "serial/packed")
	if err != nil {
		return err
	}
	m, err := gemm.New[gf256.Elem](v, nil)
	if err != nil {
		return err
	}
	return m.Multiply(ctx, c, a, b)
}

func (s *streamer) Pin(memory []byte) (func() error, error) {
	if s.refuses {
		return nil, errors.New("the driver pins nothing")
	}
	s.pinned = append(s.pinned, memory)
	return func() error {
		s.pinned = slices.DeleteFunc(s.pinned, func(m []byte) bool { return &m[0] == &memory[0] })
		return nil
	}, nil
}

func (s *streamer) Stream(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) (func() ([]timeline.Stage, error),
	error) {
	if s.refuses || len(s.pinned) == 0 {
		return nil, nil
	}
	s.slots <- true
	a = gemm.Matrix[gf256.Elem]{Rows: a.Rows, Cols: a.Cols, Stride: a.Stride, Data: slices.Clone(a.Data)}
	return func() ([]timeline.Stage, error) {
		defer func() { <-s.slots }()
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond) // replies are out of order
		return []timeline.Stage{{Name: "kernels", Begin: 1, End: 2}}, s.Multiply(ctx, c, a, b)
	}, nil
}

// worker returns a program that serves with the fault, and is closed when the test ends.
func worker(t testing.TB, fault string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), servedVariable+"="+fault, "GORACE=atexit_sleep_ms=0")
	w, err := start(cmd)
	gemmtest.Must(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// matrix returns a matrix with gaps between its rows, all of whose numbers differ.
func matrix[T gemm.Number](rows, cols int, first float64) gemm.Matrix[T] {
	x := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols + 3, Data: make([]T, rows*(cols+3))}
	for i := range x.Data {
		x.Data[i] = gemm.FromFloat64[T](first + float64(i)/4)
	}
	return x
}

// checkRemote sends a product α·A·B + β·C to the program, and compares the bits with the same variant in this
// process.
func checkRemote[T gemm.Number](t *testing.T, w *process, m, n, k int, alpha, beta float64) {
	t.Helper()
	a, b := matrix[T](m, k, 1), matrix[T](k, n, -2)
	c, want := matrix[T](m, n, 3), matrix[T](m, n, 3)
	v, err := gemm.Lookup(serial.Variants(), "serial/packed")
	gemmtest.Must(t, err)
	s := &server{variants: serial.Variants()}
	here := task{t.Context(), request{Variant: v.Name, Alpha: alpha, Beta: beta}}
	if alpha == 1 && beta == 0 {
		m, err := gemm.New[T](v, nil)
		gemmtest.Must(t, err)
		err = m.Multiply(t.Context(), want, a, b)
		gemmtest.Must(t, err)
	} else if err := full(s, here, want, a, b); err != nil {
		t.Fatal(err)
	}
	p := product[T]{Variant: v.Name, Alpha: alpha, Beta: beta, A: a, B: b, C: c}
	if _, err := compute(t.Context(), w, p); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Data, want.Data) {
		t.Errorf("%s %dx%dx%d, %v and %v: the product differs, or what is between its rows",
			gemm.TypeOf[T]().Name, m, n, k, alpha, beta)
	}
}

// TestRemoteProducts has one process compute products of all types and several shapes.
func TestRemoteProducts(t *testing.T) {
	w := worker(t, "none")
	for _, s := range [][3]int{{1, 1, 1}, {5, 7, 3}, {100, 31, 64}, {4, 3, 0}, {0, 3, 2}} {
		checkRemote[float64](t, w, s[0], s[1], s[2], 1, 0)
		checkRemote[float32](t, w, s[0], s[1], s[2], 1, 0)
		checkRemote[float32](t, w, s[0], s[1], s[2], -2, 0.5)
		checkRemote[half.F16](t, w, s[0], s[1], s[2], 1, 0)
		checkRemote[half.BF16](t, w, s[0], s[1], s[2], -2, 0.5)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if _, err := compute(t.Context(), w, fieldProduct(nil, 1, 1)); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// fieldProduct returns a product of bytes, whose B and C are the upper and lower rows of a slice, as in files with
// parity. Without memory it takes its own.
func fieldProduct(memory []gf256.Elem, width, seed int) product[gf256.Elem] {
	const k, m = 10, 4
	if memory == nil {
		memory = make([]gf256.Elem, (k+m)*width)
	}
	a := gemm.NewMatrix[gf256.Elem](m, k)
	for i := range a.Data {
		a.Data[i] = gf256.New(uint8(0x80 + 7*i + seed))
	}
	all := gemm.Matrix[gf256.Elem]{Rows: k + m, Cols: width, Stride: width, Data: memory[:(k+m)*width]}
	b, c := all.Slice(0, 0, k, width), all.Slice(k, 0, m, width)
	for i := range b.Data {
		b.Data[i] = gf256.New(uint8(i*i + seed))
	}
	return product[gf256.Elem]{Variant: "serial/packed", Alpha: 1, A: a, B: b, C: c}
}

// checkField compares a product of bytes with the definition, in some columns.
func checkField(t *testing.T, p product[gf256.Elem]) {
	t.Helper()
	for _, j := range []int{0, p.C.Cols / 3, p.C.Cols - 1} {
		for i := range p.C.Rows {
			var want gf256.Elem
			for l := range p.A.Cols {
				want = gf256.Add(want, gf256.Mul(p.A.At(i, l), p.B.At(l, j)))
			}
			if p.C.At(i, j) != want {
				t.Errorf("element (%d, %d) is %v, want %v", i, j, p.C.At(i, j), want)
				return
			}
		}
	}
}

func TestRemoteBytes(t *testing.T) {
	w := worker(t, "none")
	p := fieldProduct(nil, 70, 0)
	if _, err := compute(t.Context(), w, p); err != nil {
		t.Fatal(err)
	}
	checkField(t, p)
	p.Beta = 1
	if _, err := compute(t.Context(), w, p); err == nil || !strings.Contains(err.Error(), "gf256 has C = A*B only") {
		t.Errorf("with a beta: %v", err)
	}
}

// TestConcurrentProducts has several goroutines multiply, in memory of the worker's and elsewhere, with a program that
// computes one product at a time, one that computes several, and one that can pin nothing.
func TestConcurrentProducts(t *testing.T) {
	for _, program := range []string{"none", "streams", "unpinned"} {
		t.Run(program, func(t *testing.T) {
			w := worker(t, program)
			var group sync.WaitGroup
			for g := range 8 {
				group.Go(func() {
					var room []gf256.Elem
					if g%2 == 0 {
						var err error
						room, err = allocate[gf256.Elem](t.Context(), w, "serial/packed", nil, 14*5000)
						if program == "unpinned" {
							if err == nil || !strings.Contains(err.Error(), "the driver pins nothing") {
								t.Errorf("Allocate: %v", err)
							}
						} else if err != nil {
							t.Error(err)
							return
						}
					}
					for i := range 20 {
						p := fieldProduct(room, 5000-i, g+i)
						stages, err := compute(t.Context(), w, p)
						if err != nil {
							t.Error(err)
							return
						}
						if program == "streams" && room != nil && len(stages) != 1 {
							t.Errorf("%d stages", len(stages))
						}
						checkField(t, p)
					}
				})
			}
			group.Wait()
			if err := w.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		})
	}
}

func TestAllocateLimits(t *testing.T) {
	w := worker(t, "streams")
	for _, n := range []int{0, -1, mostPinned + 1, math.MaxInt} {
		if _, err := allocate[gf256.Elem](t.Context(), w, "serial/packed", nil, n); err == nil ||
			!strings.Contains(err.Error(), "between 1 and 896 MiB in all are possible") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	w.pinned = mostPinned - 4096
	if _, err := allocate[gf256.Elem](t.Context(), w, "serial/packed", nil, 4096); err != nil {
		t.Error(err)
	}
	if _, err := allocate[gf256.Elem](t.Context(), w, "serial/packed", nil, 1); err == nil {
		t.Error("more than all was pinned")
	}
	p := fieldProduct(nil, 5000, 1) // it is carried without
	if _, err := compute(t.Context(), w, p); err != nil {
		t.Error(err)
	}
	checkField(t, p)
	if w.pinned != mostPinned {
		t.Errorf("%d bytes are pinned", w.pinned)
	}
}

func TestFaults(t *testing.T) {
	x := func() gemm.Matrix[float64] { return matrix[float64](300, 300, 1) }
	p := product[float64]{Variant: "serial/naive", Alpha: 1, A: x(), B: x(), C: x()}
	for _, test := range []struct {
		fault, variant, want string
		unavailable          bool
	}{
		{"early", "serial/naive", "ended with exit status 1: remote.test: there is no driver", false},
		{"unavailable", "serial/naive", "needs compute capability 8.0", true},
		{"fails", "serial/naive", "the kernel is wrong", false},
		{"quiet", "serial/naive", "ended before it was done", false},
		{"dies", "serial/naive", "ended with exit status 1: remote.test: the GPU has fallen off the bus", false},
		{"killed", "serial/naive", "ended with signal killed", false},
		{"rubbish", "serial/naive", `the reply: "hello" is not a frame`, false},
		{"stranger", "serial/naive", "it answers request 77", false},
		{"none", "cuda/naive", `there is no variant "cuda/naive": build both programs`, false},
	} {
		w := worker(t, test.fault)
		q := p
		q.Variant = test.variant
		for range 2 {
			_, err := compute(t.Context(), w, q)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") ||
				errors.Is(err, gemm.ErrUnavailable) != test.unavailable {
				t.Errorf("%s: %v, want %q", test.fault, err, test.want)
			}
		}
		begin := time.Now()
		if err := w.Close(); w.hasEnded() && time.Since(begin) > stopTime {
			t.Errorf("%s: Close = %v after %v", test.fault, err, time.Since(begin))
		}
	}
	if _, err := start(exec.Command(t.TempDir() + "/absent")); !errors.Is(err, gemm.ErrUnavailable) {
		t.Errorf("no program: %v", err)
	}
	short := p
	short.C = matrix[float64](2, 2, 0)
	if _, err := compute(t.Context(), worker(t, "none"), short); !errors.Is(err, gemm.ErrShape) {
		t.Errorf("shapes that do not conform: %v", err)
	}
	// the race detector, which does not see clear, reports reads that are still under way
	for _, x := range []gemm.Matrix[float64]{p.A, p.B, p.C} {
		for i := range x.Data {
			x.Data[i] = 0
		}
	}
}

// TestContextEnds cancels products of a program that ends them and of one that hangs.
func TestContextEnds(t *testing.T) {
	x := func(n int) gemm.Matrix[float64] { return matrix[float64](n, n, 1) }
	w := worker(t, "none")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	long := product[float64]{Variant: "serial/naive", Alpha: 1, A: x(1000), B: x(1000), C: x(1000)}
	if _, err := compute(ctx, w, long); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a product that is too long: %v", err)
	}
	checkRemote[float64](t, w, 5, 7, 3, 1, 0) // the program is there still

	hanging := worker(t, "hangs")
	hanging.grace = 100 * time.Millisecond
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	small := product[float64]{Variant: "serial/naive", Alpha: 1, A: x(2), B: x(2), C: x(2)}
	if _, err := compute(ctx, hanging, small); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a program that hangs: %v", err)
	}
	if _, err := compute(t.Context(), hanging, small); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("after it: %v", err)
	}
	if err := worker(t, "hangs").Close(); err != nil {
		t.Errorf("Close of a program that hangs: %v", err)
	}
}

// TestKilledBetweenProducts kills the program from outside: memory stays, and every later product has the error.
func TestKilledBetweenProducts(t *testing.T) {
	w := worker(t, "streams")
	room, err := allocate[gf256.Elem](t.Context(), w, "serial/packed", nil, 14*100)
	gemmtest.Must(t, err)
	p := fieldProduct(room, 100, 3)
	if _, err := compute(t.Context(), w, p); err != nil {
		t.Fatal(err)
	}
	gemmtest.Must(t, w.cmd.Process.Kill())
	for range 3 {
		if _, err := compute(t.Context(), w, p); err == nil ||
			!strings.Contains(err.Error(), "ended with signal killed") {
			t.Errorf("after the end: %v", err)
		}
	}
	checkField(t, p)
}

// TestEndsWithParent ends the input of a program that computes, as the end of this process does, and closes another.
func TestEndsWithParent(t *testing.T) {
	for want, end := range map[string]func(w *process) error{
		"ended before it was done": func(w *process) error { return w.to.Close() },
		"the worker is closed":     (*process).Close,
	} {
		w := worker(t, "none")
		x := func() gemm.Matrix[float64] { return matrix[float64](1000, 1000, 1) }
		ended := make(chan error, 1)
		go func() {
			p := product[float64]{Variant: "serial/naive", Alpha: 1, A: x(), B: x(), C: x()}
			_, err := compute(context.Background(), w, p)
			ended <- err
		}()
		for len(w.inflight) == 0 {
			time.Sleep(time.Millisecond)
		}
		if err := end(w); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if err := <-ended; err == nil || !strings.Contains(err.Error(), want) && !errors.Is(err, context.Canceled) &&
			!strings.Contains(err.Error(), "canceled") {
			t.Errorf("%v, want %q", err, want)
		}
		<-w.ended
	}
}

func TestBrokenRequests(t *testing.T) {
	for text, want := range map[string]string{
		"hello\n": "is not a frame", "map 0 hello\n": "invalid character",
		"map 0 {\"protocol\":9}\n": fmt.Sprint("protocol 9, this program speaks ", protocol),
	} {
		var out bytes.Buffer
		if err := Serve(t.Context(), strings.NewReader(text), &out, nil, serial.Variants()); err == nil ||
			!strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%.60q: %v, %q was written; want %q", text, err, out.String(), want)
		}
	}
	if err := Serve(t.Context(), strings.NewReader(""), io.Discard, nil, serial.Variants()); err != nil {
		t.Errorf("no request: %v", err)
	}
}

// TestRefusedRequests has replies with errors to requests that do not hold together, after which the program goes on.
func TestRefusedRequests(t *testing.T) {
	in, requests := io.Pipe()
	replies, out := io.Pipe()
	m, err := newMemory()
	gemmtest.Must(t, err)
	defer m.close()
	s, err := m.grow(4096)
	gemmtest.Must(t, err)
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), in, out, m.file, serial.Variants()) }()
	w, r := ipc.NewWriter(requests), ipc.NewReader(replies)
	const multiplying = `multiply "variant":"serial/naive","type":"f64",`
	for _, test := range []struct{ text, want string }{
		{`dance "id":5`, `there is no request \"dance\"`},
		{`multiply "variant":"serial/naive","type":"f8"`, `there is no type \"f8\"`},
		{multiplying + `"m":-1`, "-1×0"},
		{multiplying + `"m":4294967296,"k":4294967296,"a":{"stride":4294967296}`,
			"4294967296×4294967296"},
		{multiplying + `"m":1,"n":1,"k":1,"a":{"stride":1}`, "does not lie in"},
		{`map "variant":"serial/naive","type":"f64","segment":{"at":4096,"bytes":4096}`, "there are 4096 bytes"},
		{`map "variant":"serial/naive","type":"f64","segment":{"at":0,"bytes":4096}`, ""},
		{`map "variant":"serial/naive","type":"f64","segment":{"at":0,"bytes":4096}`, "is mapped already"},
		{multiplying + `"m":1,"n":1,"k":1,"a":{"at":4,"stride":1}`, "does not lie"},
		{multiplying + `"m":1,"n":1,"k":1,"a":{"at":4096,"stride":1}`, "does not"},
		{multiplying + `"m":2,"n":1,"k":1,"a":{"stride":0},"b":{"stride":1}`, "does"},
		{multiplying + `"alpha":1,"m":1,"n":1,"k":1,"a":{"stride":1},` +
			`"b":{"at":8,"stride":1},"c":{"at":16,"stride":1}`, ""},
		{`hold "variant":"serial/naive","type":"f64","segment":{"at":0,"bytes":4096}`, "cannot hold the segment"},
		{`steps "segment":{"at":0,"bytes":4096}`, "holds no operands"},
		{`unmap "segment":{"at":0,"bytes":4096}`, ""},
		{`unmap "segment":{"at":0,"bytes":4096}`, "is not mapped"},
	} {
		word, text, _ := strings.Cut(test.text, " ")
		gemmtest.Must(t, w.Send(word, fmt.Sprintf(`{"protocol":%d,"id":5,%s}`, protocol, text)))
		got, err := r.Next()
		if err != nil || !strings.Contains(got.Text, test.want) || strings.Contains(got.Text, `"error`) != (test.want != "") {
			t.Errorf("%s: %v, %v; want %q", test.text, got, err, test.want)
		}
	}
	_ = requests.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := m.drop(s); err != nil {
		t.Error(err)
	}
}

// remoteOf returns the constructor of multipliers that w computes.
func remoteOf[T gemm.Element](w *process, v gemm.Variant) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(gemm.Params) (gemm.Multiplier[T], error) {
		return &multiplier[T]{variant: v.Name, session: &session{with: w}}, nil
	}
}

// TestConformance runs the suite on products that another process computes.
func TestConformance(t *testing.T) {
	v, err := gemm.Lookup(serial.Variants(), "serial/naive")
	gemmtest.Must(t, err)
	w := worker(t, "none")
	v.F64, v.F32 = remoteOf[float64](w, v), remoteOf[float32](w, v)
	v.F16, v.BF16 = remoteOf[half.F16](w, v), remoteOf[half.BF16](w, v)
	v.GF256 = remoteOf[gf256.Elem](w, v)
	gemmtest.Suite{OneCall: true}.Run(t, v)
}

// BenchmarkRequest is what a request costs besides the product: from and to memory of the worker's.
func BenchmarkRequest(b *testing.B) {
	w := worker(b, "none")
	room, err := allocate[gf256.Elem](b.Context(), w, "serial/packed", nil, 14*64)
	gemmtest.Must(b, err)
	p := fieldProduct(room, 64, 1)
	for b.Loop() {
		if _, err := compute(b.Context(), w, p); err != nil {
			b.Fatal(err)
		}
	}
}
