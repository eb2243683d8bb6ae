package grade

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"gemm"
	"gemm/compare/plan"
	"gemm/user"
)

// Assignment is what students have to write, and how it is marked. It is read from YAML.
type Assignment struct {
	Title       string
	Language    string `word:"language"`    // of the feedback: en or zh
	Leaderboard string `word:"leaderboard"` // named, anonymous or none; empty: named
	Kernel      Kernel
	Sizes       Sizes
	Rules       Rules
	Rubric      []Criterion

	folder, digest string
}

// Kernel says how a submission is called.
type Kernel struct {
	// ABI is an ABI of package user: square, rowmajor, fortran, cblas or cuda. program is a program with main, which is
	// started under mpirun: PROGRAM M N K A B C reads A and B from files and writes C, all by rows, without a header.
	ABI       user.ABI `word:"ABI"`
	Type      string   `word:"type"` // f64 or f32
	Function  string   // empty: the usual one of the ABI
	Block     string   // threads of a block, of cuda, as --block-dims
	Grid      string   // blocks, of cuda, as --grid
	Reference string   // of program: the source of the lecturer's program, next to the assignment
}

// Sizes are the shapes of the products, N or MxNxK. Students know the public ones.
type Sizes struct {
	Public []string
	Hidden Hidden
}

// Hidden are shapes that are drawn from a seed.
type Hidden struct {
	Seed     uint64
	Count    int
	From, To int // the least and the largest dimension
}

// Rules limit submissions.
type Rules struct {
	Threads   int           // 0: 1
	Ranks     int           // of program; 0: 1
	Options   string        // of the compiler; empty: user.DefaultFlags
	Forbidden []string      // beginnings of symbols that a submission may not use, such as cblas_
	Time      time.Duration // processor time of a product; 0: 10 s
	Compile   time.Duration // of the compiler; 0: 1 min
	Memory    string        // of a process, such as 2GiB; empty: 2GiB
}

// Criterion is a line of the rubric. It has either Right or Speed.
type Criterion struct {
	Name   string
	Points float64
	// Right gives points for right results: the share of the shapes of a class that are right. The classes are public,
	// hidden, odd (a dimension is odd), even (none is), square, slender (a dimension is four times another) and all.
	Right string `word:"class"`
	// Whole gives points only if all shapes of the class are right.
	Whole bool
	// Speed gives points for the speed over the speed of peak, of a variant such as reference/openblas or, with the ABI
	// program, of reference; rank gives them for the share of the others that are not faster. The ratio is the mean over
	// all shapes, each by the fastest tenth of the samples. A submission that is wrong at any shape has no points.
	Speed string `word:"speed"`
	// From and To are the ratios with no points and with all. Between them points are linear.
	From, To float64
	// Step is what points are rounded to; 0: 1.
	Step float64
}

// Program is the ABI of a program with main.
const Program user.ABI = "program"

// What Criterion.Speed may be besides a variant.
const (
	ofPeak      = "peak"
	ofRank      = "rank"
	ofReference = "reference"
)

// classes are the classes of shapes that Criterion.Right names. shape.Hidden is of the classes public and hidden.
var classes = map[string]func(s shape) bool{
	"all":     func(shape) bool { return true },
	"public":  func(s shape) bool { return !s.hidden },
	"hidden":  func(s shape) bool { return s.hidden },
	"odd":     func(s shape) bool { return (s.M|s.N|s.K)&1 == 1 },
	"even":    func(s shape) bool { return (s.M|s.N|s.K)&1 == 0 },
	"square":  func(s shape) bool { return s.IsCube() },
	"slender": func(s shape) bool { return max(s.M, s.N, s.K) >= 4*min(s.M, s.N, s.K) },
}

// shape is a shape of an assignment.
type shape struct {
	gemm.Shape
	hidden bool
}

// Read reads an assignment from the text of a file. Criteria may name the given variants. An error is one line with the
// file, the line and the key.
func Read(file string, text []byte, variants []gemm.Variant) (Assignment, error) {
	a := Assignment{folder: filepath.Dir(file)}
	words := map[string][]string{
		"language": {"", "en", "zh"}, "leaderboard": {"", "named", "anonymous", "none"}, "type": {"f64", "f32"},
		"speed": {ofPeak, ofRank, ofReference},
		"ABI":   {"square", "rowmajor", "fortran", "cblas", string(user.CUDA), string(Program)},
	}
	for class := range classes {
		words["class"] = append(words["class"], class)
	}
	for _, v := range variants {
		words["speed"] = append(words["speed"], v.Name)
	}
	err := plan.Decode(file, text, words, &a, func(at func(path ...any) string) error { return a.check(at) })
	a.digest = fmt.Sprintf("%x", sha256.Sum256(text))
	return a, err
}

// check checks what the words leave open, and sets defaults.
func (a *Assignment) check(at func(path ...any) string) error {
	k, r := &a.Kernel, &a.Rules
	wrong := func(format string, args ...any) func(path ...any) error {
		return func(path ...any) error { return fmt.Errorf("%s: %s", at(path...), fmt.Sprintf(format, args...)) }
	}
	a.Language, a.Leaderboard = cmp.Or(a.Language, "en"), cmp.Or(a.Leaderboard, "named")
	k.Type, r.Options = cmp.Or(k.Type, "f64"), cmp.Or(r.Options, user.DefaultFlags)
	k.Function = cmp.Or(k.Function, user.Usual(k.ABI, k.Type))
	r.Time, r.Compile = cmp.Or(r.Time, 10*time.Second), cmp.Or(r.Compile, time.Minute)
	r.Memory = cmp.Or(r.Memory, "2GiB")
	r.Threads, r.Ranks = cmp.Or(r.Threads, 1), cmp.Or(r.Ranks, 1)
	memory, unreadable := humanize.ParseBytes(r.Memory)
	h := a.Sizes.Hidden
	switch {
	case k.ABI == "":
		return wrong("is missing: square, rowmajor, fortran, cblas, cuda or program")("kernel", "abi")
	case k.Function == "" && k.ABI == user.RowMajor:
		return wrong("is missing: the ABI rowmajor has no usual one")("kernel", "function")
	case (k.ABI == Program) != (k.Reference != ""):
		return wrong("is a source of the ABI program, and of no other")("kernel", "reference")
	case r.Threads < 1 || r.Ranks < 1 || r.Ranks > 1 && k.ABI != Program:
		return wrong("threads and ranks must be positive; only the ABI program has ranks")("rules")
	case r.Time < 0 || r.Compile < 0:
		return wrong("time and compile must be positive, such as 10s")("rules")
	case unreadable != nil || memory < 64<<20:
		return wrong("%q must be 64MiB or more, such as 2GiB", r.Memory)("rules", "memory")
	case h.Count < 0 || h.Count > 0 && (h.From < 1 || h.To < h.From):
		return wrong("must have count, and from and to with 1 ≤ from ≤ to")("sizes", "hidden")
	case len(a.Sizes.Public) == 0:
		return wrong("is missing: a list such as [64, 100x200x300]")("sizes", "public")
	case len(a.Rubric) == 0:
		return wrong("is missing: a list of criteria")("rubric")
	}
	for i, text := range a.Sizes.Public {
		if s, err := gemm.ParseShape(text); err != nil {
			return wrong("%v", err)("sizes", "public", i)
		} else if k.ABI == user.Square && !s.IsCube() {
			return wrong("%q: the ABI square has n×n matrices only", text)("sizes", "public", i)
		}
	}
	shapes := a.shapes(true)
	for i := range a.Rubric {
		c := &a.Rubric[i]
		c.Step = cmp.Or(c.Step, 1)
		c.Name = cmp.Or(c.Name, strings.TrimSpace(c.Right+c.Speed))
		variant := c.Speed != "" && c.Speed != ofPeak && c.Speed != ofRank
		switch {
		case (c.Right == "") == (c.Speed == ""):
			return wrong("must have right or speed, and not both")("rubric", i)
		case !(c.Points > 0) || !(c.Step > 0):
			return wrong("points and step must be positive")("rubric", i)
		case c.Speed != "" && !(c.From >= 0 && c.To > c.From):
			return wrong("from and to must be ratios with 0 ≤ from < to")("rubric", i)
		case c.Right != "" && !slices.ContainsFunc(shapes, classes[c.Right]):
			return wrong("no shape is %s", c.Right)("rubric", i, "right")
		case variant && (c.Speed == ofReference) != (k.ABI == Program):
			return wrong("reference is for the ABI program, which has no other variant")("rubric", i, "speed")
		}
	}
	return nil
}

// shapes returns the shapes, from small to large, with the hidden ones if they are requested.
func (a *Assignment) shapes(hidden bool) (out []shape) {
	for _, text := range a.Sizes.Public {
		s, _ := gemm.ParseShape(text) // check has the error
		out = append(out, shape{s, false})
	}
	h := a.Sizes.Hidden
	random := rand.New(rand.NewPCG(h.Seed, 0))
	for i := range h.Count {
		draw := func() int { return h.From + random.IntN(h.To-h.From+1) }
		s := gemm.Shape{M: draw(), N: draw(), K: draw()}
		if a.Kernel.ABI == user.Square || i%3 == 2 {
			s = gemm.Cube(s.M)
		}
		if hidden {
			out = append(out, shape{s, true})
		}
	}
	slices.SortStableFunc(out, func(x, y shape) int { return x.Compare(y.Shape) })
	return slices.CompactFunc(out, func(x, y shape) bool { return x.Shape == y.Shape })
}

// compared returns the variants that criteria compare with.
func (a *Assignment) compared() (names []string) {
	for _, c := range a.Rubric {
		if c.Speed != "" && c.Speed != ofPeak && c.Speed != ofRank && !slices.Contains(names, c.Speed) {
			names = append(names, c.Speed)
		}
	}
	return names
}
