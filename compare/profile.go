package compare

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

	"gemm"
)

// Profile says what a comparison measures, and for how long. It is read from YAML: docs/profiles.md has all keys.
type Profile struct {
	Name     string `yaml:"-"`
	Text     string `yaml:"-"` // of a built-in profile, as it is written
	Doc      string // one line, for help texts
	Budget   Budget
	Ceilings time.Duration // time to measure each peak and bandwidth
	Types    []string      `word:"type"` // nil: all
	Threads  counts        // numbers of threads; nil: the default of each variant
	// LibraryThreads are the numbers of threads of libraries of others; nil: Threads.
	LibraryThreads counts `yaml:"libraries"`
	Ranks          counts // numbers of ranks in the ladder
	Shapes         shapes
	Ladder         rules // of the rows of the ladder that are measured
	// Sizes are rules besides those of Ladder, for Shapes. They are not for shapes that the user has requested.
	Sizes     rules
	Timelines *Selection // of the rows of the ladder with a timeline; nil: none
	// Baselines are the variants that speed-ups of the experiments are quoted over.
	Baselines   []string      `word:"variant"`
	Cutoffs     map[int][]int // cut-offs of the experiment cutoff, by size
	Compiler    builds        // other builds of this program in the experiment compiler
	Loops       builds        // loops in Go in that experiment, next to those in C
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
var profileNames = []string{"quick", "full", "parallel", "mpi", "cuda", "peers", "gf256", "course"}

// Profiles returns the built-in profiles. Names of variants are not checked.
func Profiles() []Profile {
	var out []Profile
	for _, name := range profileNames {
		text, err := profiles.ReadFile("profiles/" + name + ".yaml")
		if err != nil {
			panic(err) // of this program
		}
		p, err := ReadProfile(name, text, nil)
		if err != nil {
			panic(err)
		}
		p.Text = string(text)
		out = append(out, p)
	}
	return out
}

// ReadProfile reads a profile from a file. Numbers of processors are those of this process. The profile may name the
// given variants; nil: any. An error names the file, the line and the nearest word that is known.
func ReadProfile(file string, text []byte, variants []gemm.Variant) (Profile, error) {
	p := Profile{Name: strings.TrimSuffix(path.Base(file), path.Ext(file))}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&document)
	if err == nil {
		err = newVocabulary(variants).check(document.Content[0], reflect.TypeFor[Profile](), "")
	}
	if err == nil {
		err = document.Decode(&p)
	}
	if another := decoder.Decode(&yaml.Node{}); err == nil && !errors.Is(another, io.EOF) {
		err = errors.New("it has several documents: keep one profile")
	}
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		return p, fmt.Errorf("%s: %s", file, strings.Join(strings.Fields(text), " "))
	}
	return p, nil
}

// vocabulary has the words that a value may have, by the tag of its field. A missing entry permits any.
type vocabulary map[string][]string

func newVocabulary(variants []gemm.Variant) vocabulary {
	v := vocabulary{"type": gemm.TypeNames(), "role": roles, "class": classes, "place": places, "experiment": nil}
	for _, e := range experiments {
		v["experiment"] = append(v["experiment"], string(e))
	}
	for _, variant := range variants {
		v["variant"] = append(v["variant"], variant.Name)
		v["family"] = append(v["family"], variant.Family())
		for _, q := range params(variant) {
			v["parameter"] = append(v["parameter"], q.Name)
		}
	}
	return v
}

// check compares the keys and words of a node with those of the type that it is decoded into.
func (v vocabulary) check(node *yaml.Node, typ reflect.Type, word string) error {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	var errs []error
	switch {
	case typ.Kind() == reflect.Struct && node.Kind == yaml.MappingNode:
		fields := fieldsOf(typ)
		var keys []string
		for key := range fields {
			keys = append(keys, key)
		}
		for i := 0; i < len(node.Content); i += 2 {
			key := node.Content[i]
			if field, ok := fields[key.Value]; ok {
				errs = append(errs, v.check(node.Content[i+1], field.Type, field.Tag.Get("word")))
			} else {
				errs = append(errs, unknown(key, "key", keys))
			}
		}
	case typ.Kind() == reflect.Map && node.Kind == yaml.MappingNode && word != "":
		for i := 0; i < len(node.Content); i += 2 {
			errs = append(errs, v.check(node.Content[i], typ.Key(), word))
		}
	case typ.Kind() == reflect.Slice && node.Kind == yaml.SequenceNode:
		for _, item := range node.Content {
			errs = append(errs, v.check(item, typ.Elem(), word))
		}
	case node.Kind == yaml.ScalarNode && v[word] != nil && !slices.Contains(v[word], node.Value):
		errs = append(errs, unknown(node, word, v[word]))
	}
	return errors.Join(errs...)
}

// fieldsOf returns the fields of a struct by their keys, those of its inlined parts too.
func fieldsOf(typ reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(typ) {
		key := strings.ToLower(field.Name)
		if name := field.Tag.Get("yaml"); name != "" {
			key = name
		}
		fields[key] = field
	}
	delete(fields, ",inline")
	delete(fields, "-")
	return fields
}

// unknown returns the error of a word that there is not, with the most similar one that there is.
func unknown(node *yaml.Node, what string, known []string) error {
	nearest := slices.MinFunc(known, func(a, b string) int {
		return levenshtein.ComputeDistance(node.Value, a) - levenshtein.ComputeDistance(node.Value, b)
	})
	return fmt.Errorf("line %d: there is no %s %q; the nearest is %q", node.Line, what, node.Value, nearest)
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

// shapes are written as flags have them.
type shapes []gemm.Shape

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *shapes) UnmarshalYAML(node *yaml.Node) error {
	for _, item := range node.Content {
		if item.Value == "cs267" {
			*s = append(*s, cubes(CourseSizes())...)
			continue
		}
		shape, err := gemm.ParseShape(item.Value)
		if err != nil {
			return fmt.Errorf("line %d: the shape %w", item.Line, err)
		}
		*s = append(*s, shape)
	}
	return nil
}

// counts are numbers of threads or of ranks, written as values are.
type counts []int

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *counts) UnmarshalYAML(node *yaml.Node) error {
	var all values
	if err := node.Decode(&all); err != nil {
		return err
	}
	for _, value := range all {
		n, ok := value.(int)
		if !ok || n < 1 {
			return fmt.Errorf("line %d: %v must be a positive integer, processors or several", node.Line, value)
		}
		*c = append(*c, n)
	}
	return nil
}

// values are the values of a parameter: a list, or doubling, which is 1, 2, 4 and so on up to the processors. In a
// list, processors is their number, and several is their number but at least 2. {fit: LIST} takes the numbers that do
// not exceed the processors, and always the first; {most: LIST} takes the last of these.
type values []any

// UnmarshalYAML implements yaml.Unmarshaler.
func (v *values) UnmarshalYAML(node *yaml.Node) error {
	processors := runtime.GOMAXPROCS(0)
	var fitting struct{ Fit, Most []int }
	if node.Kind == yaml.MappingNode {
		if err := node.Decode(&fitting); err != nil {
			return err
		}
	}
	for i, n := range append(fitting.Fit, fitting.Most...) {
		if i == 0 || n <= processors {
			*v = append(*v, n)
		}
	}
	switch {
	case fitting.Most != nil:
		*v = (*v)[len(*v)-1:]
	case node.Value == "doubling":
		for n := 1; n < processors; n *= 2 {
			*v = append(*v, n)
		}
		*v = append(*v, processors)
	case node.Kind == yaml.SequenceNode:
		if err := node.Decode((*[]any)(v)); err != nil {
			return err
		}
		for i, value := range *v {
			switch value {
			case "processors":
				(*v)[i] = processors
			case "several":
				(*v)[i] = max(2, processors)
			}
		}
		*v = slices.Compact(*v)
	}
	if len(*v) == 0 {
		return fmt.Errorf("line %d: %q must be a list, doubling, {fit: LIST} or {most: LIST}", node.Line, node.Value)
	}
	return nil
}
