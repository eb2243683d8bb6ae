package plan

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"gemm"
)

// Profile says what a comparison measures, and for how long. It is read from YAML: docs/profiles.md has all keys.
type Profile struct {
	Name string `yaml:"-"`
	Text string `yaml:"-"` // of a built-in profile, as it is written
	// Processors is the number of processors of the host.
	Processors int    `yaml:"-"`
	Doc        string // one line, for help texts
	Budget     Budget
	Ceilings   time.Duration // time to measure each peak and bandwidth
	Types      []string      `word:"type"` // nil: all
	Threads    counts        // numbers of threads; nil: the default of each variant
	// LibraryThreads are the numbers of threads of external libraries; nil: Threads.
	LibraryThreads counts `yaml:"libraries"`
	Ranks          counts // numbers of ranks in the ladder
	Shapes         shapes
	Ladder         rules // of the rows of the ladder that are measured
	// Sizes are further rules for Shapes. They do not apply to shapes that the user has requested.
	Sizes     rules
	Timelines *Selection // of the rows of the ladder with a timeline; nil: none
	// Baselines are the variants that speed-ups of the experiments are quoted over.
	Baselines   []string      `word:"variant"`
	Cutoffs     map[int][]int // cut-offs of the experiment cutoff, by size
	Compiler    builds        // other builds of this program in the experiment compiler
	Loops       builds        // loops in Go in that experiment, compared with loops in C
	Experiments []study
}

// builds are the variants and the sizes of an experiment on compilers.
type builds struct {
	Sizes    []int
	Variants []string `word:"variant"`
}

//go:embed profiles/*.yaml
var profiles embed.FS

// profileNames are the built-in profiles, in the order of help texts.
var profileNames = []string{"quick", "full", "parallel", "mpi", "cuda", "peers", "gf256", "course", "figures"}

// Profiles returns the built-in profiles for a host with that many processors. Names of variants are not checked.
func Profiles(processors int) []Profile {
	var out []Profile
	for _, name := range profileNames {
		text, missing := profiles.ReadFile("profiles/" + name + ".yaml")
		p, err := ReadProfile(name, text, nil, processors)
		if err = cmp.Or(missing, err); err != nil {
			panic(err) // of this program
		}
		p.Text = string(text)
		out = append(out, p)
	}
	return out
}

// ReadProfile reads a profile from a file, for a host with that many processors. The profile may name the given
// variants; nil: any. An error names the file, the line and the nearest word that is known.
func ReadProfile(file string, text []byte, variants []gemm.Variant, processors int) (Profile, error) {
	p := Profile{Name: strings.TrimSuffix(path.Base(file), path.Ext(file)), Processors: processors}
	return p, newVocabulary(variants, processors).decode(file, text, &p)
}

// Decode stores a document of YAML in out, a pointer to a struct. A field with the tag word has one of the words that
// are known by that tag. The error is one line with the file, the line and the nearest word or key that is known. check
// returns an error of what was stored; it may be nil. It names the line of a key by the function at, whose path has
// keys and indices.
func Decode(file string, text []byte, words map[string][]string, out any, check func(at func(path ...any) string) error,
) error {
	v := vocabulary{words: words}
	if check != nil {
		v.then = func(root *yaml.Node) error {
			return check(func(path ...any) string { return position(root, path...) })
		}
	}
	return v.decode(file, text, out)
}

func (v vocabulary) decode(file string, text []byte, out any) error {
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		err = errors.New("it is empty")
	}
	if err == nil {
		err = v.check(document.Content[0], reflect.TypeOf(out).Elem(), "")
	}
	if err == nil {
		err = document.Decode(out)
	}
	if another := decoder.Decode(&yaml.Node{}); err == nil && !errors.Is(another, io.EOF) {
		err = errors.New("it has several documents: keep one")
	}
	if err == nil && v.then != nil {
		err = v.then(document.Content[0])
	}
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		return fmt.Errorf("%s: %s", file, strings.Join(strings.Fields(text), " "))
	}
	return nil
}

// CourseSizes returns the sizes of a well-known course, CS267 of Berkeley: the multiples of 32 up to
// 1024, and one less and one more.
func CourseSizes() []int {
	var sizes []int
	for n := 32; n <= 1024; n += 32 {
		sizes = append(sizes, n-1, n, n+1)
	}
	return sizes
}

// Budget limits the time of a row.
type Budget struct {
	Reps int           // least number of samples, as far as Patience and Timeout permit
	Time time.Duration // most time for samples after there are Reps
	// Timeout limits staging, warm-up and samples together. The product of integers before them and
	// the timeline after them have the same limit each. 0: no limit.
	Timeout time.Duration
	// Patience limits the samples of a slow product while there are fewer than Reps. A sample that
	// would exceed it is not taken, except the first. 0: no limit.
	Patience time.Duration
	// Call limits one call of a product with more than callTerms terms, as predicted by the rate of
	// the size before. 0: no limit but Timeout.
	Call time.Duration
	// Exact is the largest n whose n³ terms are also checked with integers, whose product must be exact. Larger
	// products are verified with the timed operands alone. 0: no limit.
	Exact int
	// Bursts limits the bursts of a turn: between them, time passes without samples. 0: mostBursts.
	Bursts int
}
