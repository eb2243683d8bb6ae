package catalog

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest"
	kernels "gemm/internal/kernel"
	"gemm/internal/tuned"
)

// TestVariantsFollowTheSettings checks that defaults follow the settings in use.
func TestVariantsFollowTheSettings(t *testing.T) {
	defer tuned.Disable()
	cutoff := func() any {
		v, err := gemm.Lookup(Variants(), "serial/strassen")
		gemmtest.Must(t, err)
		p, err := v.Resolve(nil)
		gemmtest.Must(t, err)
		return p["cutoff"]
	}
	untuned := cutoff()
	tuned.Use(tuned.Settings{}.With(tuned.Tune{Type: "f64", Kernel: kernels.Best[float64]().Name,
		Values: tuned.Values{Cutoff: 33}}))
	if got := cutoff(); got != 33 {
		t.Errorf("with a tuned cutoff of 33 it is %v", got)
	}
	tuned.Disable()
	if got := cutoff(); got != untuned {
		t.Errorf("without settings the cutoff is %v, was %v", got, untuned)
	}
}

func TestEveryVariantIsDescribed(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+/[a-z0-9-]+$`)
	seen := map[string]bool{}
	for _, v := range Variants() {
		if !name.MatchString(v.Name) {
			t.Errorf("%q is no family/algorithm", v.Name)
		}
		if seen[v.Name] {
			t.Errorf("%s is given twice", v.Name)
		}
		seen[v.Name] = true
		if v.Doc == "" || strings.Contains(v.Doc, "\n") {
			t.Errorf("%s: its doc is %q, want one line", v.Name, v.Doc)
		}
		if len(v.Types()) == 0 || v.Model == nil || v.Bound.Kind == "" || v.Bound.Worst == nil || v.Bound.Random == nil ||
			v.Bound.Largest == nil {
			t.Errorf("%s lacks a type, a model or a bound", v.Name)
		}
		for _, q := range v.Params {
			if q.Name == "" || q.Doc == "" {
				t.Errorf("%s: parameter %q has no doc", v.Name, q.Name)
			}
			if _, err := v.Resolve(gemm.Params{q.Name: q.Default}); err != nil {
				t.Errorf("%s: the default of %s is refused: %v", v.Name, q.Name, err)
			}
		}
	}
}

// TestPseudocode checks that every variant has pseudo-code that fits into a report, and that every
// file of pseudo-code belongs to a variant.
func TestPseudocode(t *testing.T) {
	const columns, lines = 56, 22
	folders := []string{"serial", "parallel", "reference", "mpi"}
	described := map[string][]string{} // the pseudo-code of variants, by algorithm
	for _, v := range Variants() {
		if !slices.Contains(folders, v.Family()) {
			continue // the family has no pseudo-code
		}
		described[path.Base(v.Name)] = append(described[path.Base(v.Name)], v.Pseudocode)
		if n := strings.Count(v.Pseudocode, "\n"); n == 0 || n > lines {
			t.Errorf("%s: its pseudo-code has %d lines, want 1 to %d", v.Name, n, lines)
		}
		for line := range strings.Lines(v.Pseudocode) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > columns {
				t.Errorf("%s: %q has %d columns, want at most %d", v.Name, line, n, columns)
			}
			if indent := len(line) - len(strings.TrimLeft(line, " ")); indent%2 != 0 ||
				line != strings.TrimRight(line, " ") ||
				strings.ContainsAny(line, "\t\r") || !utf8.ValidString(line) {
				t.Errorf("%s: %q is not indented by two spaces, or has other space", v.Name, line)
			}
		}
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join("..", "..", folder, "*.txt"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no pseudo-code: %v", folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			gemmtest.Must(t, err)
			code := string(text)
			if strings.HasPrefix(code, "{") { // the first line is About
				_, code, _ = strings.Cut(code, "\n")
			}
			if !slices.Contains(described[strings.TrimSuffix(filepath.Base(file), ".txt")], code) {
				t.Errorf("%s is the pseudo-code of no variant", file)
			}
		}
	}
}

func TestBoundsAndModelsAreSane(t *testing.T) {
	const m, n, k = 300, 200, 100
	for _, v := range Variants() {
		p, err := v.Resolve(nil)
		gemmtest.Must(t, err)
		const u = 0x1p-53
		s := gemm.Shape{M: m, N: n, K: k}
		worst, random := v.Bound.Worst(s, p, u), v.Bound.Random(s, p, u)
		if !(0 < random && random <= worst && worst < 1) {
			t.Errorf("%s: bounds %g at random and %g at worst", v.Name, random, worst)
		}
		model := v.Model(s, p)
		if !(model.Flops >= m*n*k && model.Flops <= 8*m*n*k) {
			t.Errorf("%s: %g operations for %d products", v.Name, model.Flops, m*n*k)
		}
		if model.Traffic != nil {
			if traffic := model.Traffic(1<<17, 8); !(traffic >= m*n) {
				t.Errorf("%s: %g elements of traffic for a result of %d", v.Name, traffic, m*n)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	var names []string
	for _, v := range Variants() {
		names = append(names, v.Name)
	}
	for word, want := range map[string]string{"serial/strasen": "serial/strassen", "ikj": "serial/ikj",
		"openbals": "reference/openblas"} {
		if near := Nearest(word, names); near[0] != want || len(near) != 3 {
			t.Errorf("nearest to %s are %v, want %s first of three", word, near, want)
		}
	}
	names = []string{"--help", "--time", "--timeout", "--type", "--threads", "--bk"}
	for word, want := range map[string]string{"--thread": "--threads", "--tim": "--time --timeout",
		"--nonsense": "", "--l2": "", "--typ": "--type"} {
		if got := strings.Join(Near(word, names), " "); got != want {
			t.Errorf("near to %s are %q, want %q", word, got, want)
		}
	}
}

func TestFamiliesAreInOrder(t *testing.T) {
	if got := Families(); !slices.Equal(got, []string{"serial", "parallel", "reference", "mpi", "cuda"}) {
		t.Errorf("families %v", got)
	}
}

// TestRelations follows the parents of every variant to the first of a family, and looks for the other variants that
// declarations name. All variants of the families serial and parallel have a parent, except the first and libraries of
// others. A part of a published text, and an item of docs/advice.md, belongs to one variant.
func TestRelations(t *testing.T) {
	parents, players := map[string]string{}, map[string]string{}
	for _, v := range Variants() {
		parents[v.Name] = v.Parent
		own := (v.Family() == "serial" || v.Family() == "parallel") && v.Role != gemm.Baseline
		if own && (v.Parent != "") != (v.Name != "serial/naive") {
			t.Errorf("%s: the parent is %q", v.Name, v.Parent)
		}
	}
	play := func(what, name string) {
		if other := players[what]; other != "" {
			t.Errorf("%s is of %s and of %s", what, other, name)
		}
		players[what] = name
	}
	for _, v := range Variants() {
		v := record.Of(v)
		for _, p := range slices.DeleteFunc(slices.Clone(v.Parts), func(p record.Part) bool {
			return p == record.Course || p == record.ReportLoops
		}) {
			play(string(p), v.Name)
		}
		for _, a := range v.Advice {
			play(a.Item, v.Name)
			if _, known := parents[a.Over]; !known {
				t.Errorf("%s follows %s, and %s does not: it is no variant", v.Name, a.Item, a.Over)
			}
		}
		if _, known := parents[v.Leaf]; v.Leaf != "" && !known {
			t.Errorf("%s: the leaf %s is no variant", v.Name, v.Leaf)
		}
	}
	for name, parent := range parents {
		for steps := 0; parent != ""; steps++ {
			next, known := parents[parent]
			if !known || steps == len(parents) {
				t.Errorf("%s: the parent %s is no variant, or is a child of it", name, parent)
				break
			}
			parent = next
		}
	}
}

// TestNoNames looks for names of variants in the code that measures and reports, where they would decide something.
// Profiles and prose name them.
func TestNoNames(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../../compare", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == "reporttest" {
			return cmp.Or(err, fs.SkipDir)
		}
		if filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		files++
		code, err := os.ReadFile(file)
		for _, v := range Variants() {
			if bytes.Contains(code, []byte(`"`+v.Name)) || bytes.Contains(code, []byte(v.Name+`"`)) {
				t.Errorf("%s names %s", file, v.Name)
			}
		}
		return err
	})
	if err != nil || files < 100 {
		t.Errorf("%d files were read: %v", files, err)
	}
}

// TestAbout checks what variants declare for reports: each value is one that package record knows.
func TestAbout(t *testing.T) {
	known := func(variant string, value any, all ...any) {
		if !slices.Contains(all, value) {
			t.Errorf("%s declares %T %q, want one of %q", variant, value, value, all)
		}
	}
	for _, v := range Variants() {
		about := record.Of(v).About
		for _, fetch := range about.Fetch {
			known(v.Name, fetch, record.Fetch(""), record.Uncoalesced, record.Coalesced, record.Wide, record.Engine,
				record.Producer)
		}
		for _, part := range about.Parts {
			known(v.Name, part, record.Course, record.ReportLoops, record.ReportKernel, record.ReportOuter,
				record.ReportMessages, record.ReportRows, record.ReportBlocks)
		}
		for _, loop := range []record.Loop{about.Loop, about.FieldLoop} {
			known(v.Name, loop.Level, record.Level(""), record.InnerLevel, record.CollapsedLevel, record.TilesLevel)
			known(v.Name, loop.Walk, record.Walk(""), record.Columns, record.Rows, record.Blocks)
			known(v.Name, loop.Atomic, record.Atomic(""), record.AtomicTerms, record.AtomicCopies)
		}
	}
}
