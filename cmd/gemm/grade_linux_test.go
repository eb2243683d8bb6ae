package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gemm/compare/grade"
	"gemm/gemmtest"
	"gemm/internal/peer"
	"gemm/user"
)

// classAssignment is the assignment of the planted class, without public sizes, the time of a product and the loops
// that set the speed.
const classAssignment = `title: A class
kernel: {abi: rowmajor, type: f64, function: product}
sizes: {public: [%s], hidden: {seed: 5, count: 1, from: 17, to: 60}}
rules: {options: -O3 -march=native -pthread, forbidden: [cblas_, dgemm, openblas], time: %s, compile: 3m, memory: 1GiB}
rubric:
  - {name: right, points: 60, right: all}
  - {name: odd, points: 10, right: odd, whole: true}
  - {name: fast, points: 30, speed: reference/%s}
`

// A student is a submission of the planted class, and what it deserves.
type student struct {
	name        string // of the folder
	text        string // a function of testdata/class.c or cheats.c, or a source
	file        string // of the source; empty: product.c
	least, most float64
	why         string // what a reason has
}

const (
	loops = "for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) { double s = 0; " +
		"for (int l = 0; l < k; l++) s += A[i * k + l] * B[l * n + j]; C[i * n + j] = s; } }\n"
	header = "void product(int m, int n, int k, const double *A, const double *B, double *C) { "
)

// class are the submissions. Right ones have 70 points and up to 30 for speed.
var class = []student{
	{"fast", "fast", "", 100, 100, ""},
	{"honest", "honest", "", 70, 90, ""},
	{"too_slow", "too_slow", "", 70, 70, ""},
	{"c++", `extern "C" ` + header + loops, "product.cpp", 70, 90, ""},
	{"fortran", `subroutine product(m, n, k, a, b, c) bind(c, name="product")
  use iso_c_binding
  integer(c_int), value :: m, n, k
  real(c_double) :: a(k,m), b(n,k), c(n,m)
  c = matmul(b, a)
end`, "product.f90", 70, 100, ""},
	{"fast-math", "#pragma GCC optimize (\"fast-math\")\n" + header + loops, "", 70, 100, ""},
	{"prints", "prints", "", 70, 90, ""},
	{"reads", "reads", "", 70, 90, ""},
	{"rounds", "rounds", "", 0, 0, "another rounding mode"},
	{"handles", "handles", "", 70, 90, ""},
	{"张三 (2)", header + loops, "乘法.c", 70, 90, ""},
	{"-o", header + loops, "", 70, 90, ""},
	{"=1+1", header + loops, "-x.c", 70, 90, ""},
	{"warns", strings.Repeat("#warning this line is one of twenty thousand that the compiler reports\n", 20000) +
		header + loops, "", 70, 90, ""},
	{"library", "", "", 70, 90, ""},
	{"two-files", "", "", 70, 90, ""},

	{"odd_k", "odd_k", "", 0, 60, "is wrong"},
	{"adds", "adds", "", 0, 0, "adds to what was there before"},
	{"not_a_number", "not_a_number", "", 0, 0, "NaN"},
	{"single", "single", "", 0, 0, "is wrong"},
	{"outside", "outside", "", 0, 0, "it writes outside C, element 1 behind its last one"},
	{"crashes", "crashes", "", 0, 0, "segmentation fault"},
	{"hangs", "hangs", "", 0, 0, "s of processor time"},
	{"stubborn", "stubborn", "", 0, 0, "s of processor time"},
	{"exits", "exits", "", 0, 0, "its process ended before it was done"},
	{"forks", "forks", "", 0, 0, "a process that it has started still runs"},
	{"lingers", "lingers", "", 0, 0, "a process that it has started still runs"},
	{"allocates", "allocates", "", 0, 0, "its process ended with signal"},
	{"fills_disk", "fills_disk", "", 0, 0, "file size limit exceeded"},
	{"kills_all", "kills_all", "", 70, 90, ""},
	{"kills_parent", "kills_parent", "", 70, 90, ""},
	{"leaves", "#define LEAVES", "", 0, 0, "cannot be loaded"},
	{"reads_other", "reads_other", "", 70, 90, ""},
	{"writes_results", "writes_results", "", 70, 90, ""},
	{"uses_network", "uses_network", "", 70, 90, ""},
	{"calls_blas", "calls_blas", "", 0, 0, "cblas_dgemm"},
	{"opens_blas", "opens_blas", "", 0, 0, "dl"},
	{"empty", "", "", 0, 0, "no source"},
	{"link", "", "", 0, 0, "link"},
	{"includes", `#include "../fast/product.c"`, "", 0, 0, "does not compile"},
	{"cuda", `extern "C" __global__ ` + header + "}", "product.cu", 0, 0, "CUDA"},
	{"error", header + "return 1 +; }", "", 0, 0, "product.c:1:"},
	{"other-name", strings.Replace(header, "product", "f", 1) + loops, "", 0, 0, "it has no function product"},
	{"bomb", "char x[1UL << 32] = {1};\n" + header + loops, "", 0, 0, "does not compile"},

	{"every_third", "every_third", "", 0, 0, "it does not write element (0, 0) of C"},
	{"after_warm_up", "after_warm_up", "", 0, 0, "it does not write element (0, 0) of C"},
	{"by_pointer", "by_pointer", "", 0, 0, "wrong in a call that was timed"},
	{"by_checksum", "by_checksum", "", 0, 0, "wrong in a call that was timed"},
	{"half_of_the_rows", "half_of_the_rows", "", 0, 0, "it does not write element"},
	{"one_term_less", "one_term_less", "", 0, 0, "wrong in a call that was timed"},
	{"changes_operands", "changes_operands", "", 0, 0, "it changes A"},
	{"previous_operands", "previous_operands", "", 0, 0, "wrong in a call that was timed"},
	{"of_a_sibling", "of_a_sibling", "", 0, 0, "wrong in a call that was timed"},
	{"if_written", "if_written", "", 70, 90, ""},
	{"after_return", "after_return", "", 0, 0, "it does not write element"},
	{"changes_the_clock", "changes_the_clock", "", 0, 70, "times as long as its process reports"},
}

// plant writes the class into the folder in of dir, and the assignment.
func plant(t *testing.T, dir string, class []student, sizes, limit, speed string) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	gemmtest.Must(t, err)
	t.Cleanup(func() { listener.Close() })
	outside, err := os.Readlink("/proc/self/ns/pid")
	gemmtest.Must(t, err)
	definitions := fmt.Sprintf("#define LINKAGE static\n#define OTHER %q\n#define RESULTS %q\n#define OUTSIDE %q\n"+
		"#define PORT %d\n",
		filepath.Join(dir, "in"), filepath.Join(dir, "out"), outside, listener.Addr().(*net.TCPAddr).Port)
	body := definitions + read(t, "testdata/cheats.c") + read(t, "testdata/class.c")
	write(t, filepath.Join(dir, "assignment.yaml"), fmt.Sprintf(classAssignment, sizes, limit, speed))
	at := func(name, file string) string { return filepath.Join(dir, "in", name, file) }
	for _, s := range class {
		gemmtest.Must(t, os.MkdirAll(at(s.name, ""), 0o777))
		switch {
		case s.name == "link":
			gemmtest.Must(t, os.Symlink("/etc/passwd", at(s.name, "product.c")))
		case s.name == "library":
			write(t, filepath.Join(dir, "library.c"), header+loops)
			out, err := exec.Command("gcc", "-O3", "-shared", "-fPIC", "-o", at(s.name, "product.so"),
				filepath.Join(dir, "library.c")).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		case s.name == "two-files":
			write(t, at(s.name, "sum.h"), "double sum(int n, int k, const double *a, const double *b);\n")
			write(t, at(s.name, "sum.c"), "#include \"sum.h\"\n"+
				"double sum(int n, int k, const double *a, const double *b) { double s = 0; "+
				"for (int l = 0; l < k; l++) s += a[l] * b[l * n]; return s; }\n")
			write(t, at(s.name, "product.c"), "#include \"sum.h\"\n"+header+"for (int i = 0; i < m; i++) "+
				"for (int j = 0; j < n; j++) C[i * n + j] = sum(n, k, A + i * k, B + j); }\n")
		case s.text == "":
		case strings.Contains(s.text, "("):
			name := s.file
			if name == "" {
				name = "product.c"
			}
			write(t, at(s.name, name), s.text)
		case strings.HasPrefix(s.text, "#define"):
			write(t, at(s.name, "product.c"), s.text+"\n"+body+"void product(ARGUMENTS) { HONEST; }\n")
		case strings.HasPrefix(s.text, "#include"):
			write(t, at(s.name, "product.c"), s.text+"\n")
		default:
			write(t, at(s.name, "product.c"), body+"void product(ARGUMENTS) { "+s.text+"(m, n, k, A, B, C); }\n")
		}
	}
}

// graded grades the class in dir.
func graded(t *testing.T, dir string, arguments ...string) (results map[string]grade.Result, c grade.Class) {
	t.Helper()
	r := start(t, dir, nil, append([]string{"grade", "--assignment", "assignment.yaml", "--in", "in", "--out", "out",
		"--json", "class.json"}, arguments...)...)
	if r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	gemmtest.Must(t, json.Unmarshal([]byte(read(t, filepath.Join(dir, "class.json"))), &c))
	results = map[string]grade.Result{}
	for _, r := range c.Results {
		results[r.Submission] = r
	}
	return results, c
}

// reasons returns all that a result says against its submission.
func reasons(r grade.Result) string {
	texts := []string{r.Fault.Text}
	for _, m := range r.Marks {
		for _, why := range m.Why {
			texts = append(texts, why.Text)
		}
	}
	for _, row := range r.Rows {
		texts = append(texts, row.Reason.Text)
	}
	return strings.Join(slices.Compact(texts), "; ")
}

// wild are the submissions that harm a host which does not confine them.
var wild = []string{"forks", "allocates", "fills_disk", "kills_all", "kills_parent", "bomb"}

// harmless returns the submissions that this host can confine.
func harmless(t *testing.T) []student {
	dir := t.TempDir()
	plant(t, dir, class[:1], "8", "2s", "c-naive, from: 0.4, to: 2, step: 10")
	_, c := graded(t, dir)
	if len(c.Unconfined) == 0 {
		return slices.Clone(class)
	}
	t.Logf("without %q: %q are not confined", wild, c.Unconfined)
	return slices.DeleteFunc(slices.Clone(class), func(s student) bool { return slices.Contains(wild, s.name) })
}

// TestGradeClass grades the planted class at small sizes: each submission has the marks that it deserves, with the
// reason.
func TestGradeClass(t *testing.T) {
	t.Parallel()
	_, err := peer.Program()
	gemmtest.Require(t, "gcc", err)
	class, dir := harmless(t), t.TempDir()
	plant(t, dir, class, "33x31x37, 48", "1s", "c-naive, from: 0.4, to: 2, step: 10")
	results, _ := graded(t, dir, "--time", "10ms")
	compareMarks(t, results, class)
}

// compareMarks compares results with what the submissions of the class deserve.
func compareMarks(t *testing.T, results map[string]grade.Result, class []student) {
	t.Helper()
	if len(results) != len(class) {
		t.Errorf("%d results of %d submissions", len(results), len(class))
	}
	for _, s := range class {
		r, ok := results[s.name]
		sum := 0.0
		for _, m := range r.Marks {
			sum += m.Points
		}
		if why := reasons(r); !ok || !(r.Points >= s.least && r.Points <= s.most) || !strings.Contains(why, s.why) ||
			math.Abs(sum-r.Points) > 1e-9 || r.Most != 100 || s.least == 0 && r.Marks[2].Points != 0 {
			t.Errorf("%s: %v of %v points (%v), %.300q; want %v to %v, %q", s.name, r.Points, r.Most, r.Marks, why,
				s.least, s.most, s.why)
		}
	}
}

// TestGradeExamples grades the solutions of the templates: the right one has all points for right results.
func TestGradeExamples(t *testing.T) {
	t.Parallel()
	_, err := peer.Program()
	gemmtest.Require(t, "gcc", err)
	for _, name := range []string{"square-dgemm", "openmp", "six-kernels", "f64-lab", "mpi"} {
		dir := t.TempDir()
		if _, err := exec.LookPath("mpirun"); name == "mpi" && err != nil {
			continue
		}
		gemmtest.Must(t, os.CopyFS(filepath.Join(dir, "in"), os.DirFS("../../examples/grade/"+name)))
		if name == "mpi" { // each call starts ranks
			file := filepath.Join(dir, "in", "assignment.yaml")
			write(t, file, strings.NewReplacer("[128, ", "[", "count: 2", "count: 1", "time: 30s", "time: 1s", "ranks: 4",
				"ranks: 3").Replace(read(t, file)))
		}
		results, c := graded(t, dir, "--assignment", "in/assignment.yaml", "--time", "1ms")
		right := results["right"]
		if c.Assignment.Kernel.ABI == user.CUDA { // tests have no GPU
			if why := reasons(right); right.Points != 0 || !strings.Contains(why, "gemm-cuda is neither next to gemm") {
				t.Errorf("%s: %v points, %s", name, right.Points, why)
			}
			continue
		}
		for i, m := range right.Marks {
			if wrong := results["wrong"].Marks[i]; c.Assignment.Rubric[i].Right != "" && m.Points != m.Most ||
				i == 0 && !(wrong.Points < m.Points) {
				t.Errorf("%s: %s: %+v, wrong %+v", name, m.Criterion, m, wrong)
			}
		}
	}
}

// TestGradeStable grades the class with n up to 1024 once, which must take less than 15 minutes, and with n up to 512
// GEMM_TEST_GRADE times next to a busy process: no mark moves by more than one step.
func TestGradeStable(t *testing.T) {
	runs, err := strconv.Atoi(os.Getenv("GEMM_TEST_GRADE"))
	if err != nil {
		t.Skip("GEMM_TEST_GRADE is not set")
	}
	class := harmless(t)
	for i := range class { // other loops to compare with, and large products are called so rarely that a few are right
		if s := &class[i]; s.least > 0 {
			s.least, s.most = 70, 100
		} else if s.most == 0 {
			s.most = 40
		}
	}
	gradedIn := func(sizes string) (map[string]grade.Result, grade.Class, time.Duration) {
		dir := t.TempDir()
		plant(t, dir, class, sizes, "10s", "c-ikj, from: 0, to: 1.5, step: 5")
		begin := time.Now()
		results, c := graded(t, dir)
		took := time.Since(begin).Round(time.Second)
		t.Logf("%d submissions, n = %s: %v", len(class), sizes, took)
		compareMarks(t, results, class)
		return results, c, took
	}
	if _, _, took := gradedIn("64, 255x256x257, 512, 1024"); took > 15*time.Minute {
		t.Error("this is longer than 15 minutes")
	}
	busy := exec.CommandContext(t.Context(), "sh", "-c", "while kill -0 $PPID; do :; done")
	gemmtest.Must(t, busy.Start())
	least, most := map[string]float64{}, map[string]float64{} // by submission and criterion
	for range runs {
		results, c, _ := gradedIn("64, 255x256x257, 512")
		for name, r := range results {
			for i, m := range r.Marks {
				key := name + ", " + m.Criterion
				if _, ok := least[key]; !ok {
					least[key], most[key] = math.Inf(1), math.Inf(-1)
				}
				step := max(1, c.Assignment.Rubric[i].Step)
				least[key], most[key] = min(least[key], m.Points/step), max(most[key], m.Points/step)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(least)) {
		if moved := most[key] - least[key]; moved > 1 {
			t.Errorf("%s: moves by %v steps", key, moved)
		} else if moved > 0 {
			t.Logf("%s: moves by %v steps", key, moved)
		}
	}
}
