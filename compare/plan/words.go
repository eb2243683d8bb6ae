package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

	"gemm"
	"gemm/compare/record"
)

// vocabulary has the words that a value may have, by the tag of its field. A missing entry permits any.
type vocabulary struct {
	words      map[string][]string
	processors int
	then       func(root *yaml.Node) error // further checks; nil: none
}

func newVocabulary(variants []gemm.Variant, processors int) vocabulary {
	v := map[string][]string{"type": gemm.TypeNames(), "role": roles, "class": classes, "place": places, "experiment": nil}
	for _, e := range record.Experiments {
		v["experiment"] = append(v["experiment"], string(e))
	}
	for _, variant := range variants {
		v["variant"] = append(v["variant"], variant.Name)
		v["family"] = append(v["family"], variant.Family())
		for _, q := range params(variant) {
			v["parameter"] = append(v["parameter"], q.Name)
		}
	}
	return vocabulary{words: v, processors: processors}
}

// check compares the keys and words of a node with the type that it is decoded into, and expands values.
func (v vocabulary) check(node *yaml.Node, typ reflect.Type, word string) error {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ == reflect.TypeFor[values]() || typ == reflect.TypeFor[counts]() {
		return expand(node, v.processors)
	}
	var errs []error
	switch {
	case typ.Kind() == reflect.Struct && node.Kind == yaml.MappingNode:
		fields := fieldsOf(typ)
		for i := 0; i < len(node.Content); i += 2 {
			key := node.Content[i]
			if field, ok := fields[key.Value]; ok {
				errs = append(errs, v.check(node.Content[i+1], field.Type, field.Tag.Get("word")))
			} else {
				errs = append(errs, unknown(key, "key", slices.Sorted(maps.Keys(fields))))
			}
		}
	case typ.Kind() == reflect.Map && node.Kind == yaml.MappingNode && word != "":
		for i := 0; i < len(node.Content); i += 2 {
			errs = append(errs, v.check(node.Content[i], typ.Key(), word), v.check(node.Content[i+1], typ.Elem(), ""))
		}
	case typ.Kind() == reflect.Slice && node.Kind == yaml.SequenceNode:
		for _, item := range node.Content {
			errs = append(errs, v.check(item, typ.Elem(), word))
		}
	case node.Kind == yaml.ScalarNode && v.words[word] != nil && !slices.Contains(v.words[word], node.Value):
		errs = append(errs, unknown(node, word, v.words[word]))
	}
	return errors.Join(errs...)
}

// position returns the line and the path of a node, whose steps are keys and indices. What is not there has the line of
// what it would be in.
func position(node *yaml.Node, path ...any) string {
	line, name := node.Line, ""
	for _, step := range path {
		next := &yaml.Node{}
		switch step := step.(type) {
		case int:
			name += fmt.Sprintf("[%d]", step+1)
			if step < len(node.Content) {
				next = node.Content[step]
			}
		default:
			name += fmt.Sprintf(".%v", step)
			if at := slices.IndexFunc(node.Content, func(key *yaml.Node) bool { return key.Value == step }); at >= 0 {
				next = node.Content[at+1]
			}
		}
		node, line = next, cmp.Or(next.Line, line)
	}
	return fmt.Sprintf("line %d: %s", line, strings.TrimPrefix(name, "."))
}

// fieldsOf returns the fields of a struct, and of its inlined parts, by their keys.
func fieldsOf(typ reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(typ) {
		fields[cmp.Or(field.Tag.Get("yaml"), strings.ToLower(field.Name))] = field
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
type values = []any

// expand makes a list of what stands for one.
func expand(node *yaml.Node, processors int) error {
	var numbers []int
	var fitting struct{ Fit, Most []int }
	switch node.Kind {
	case yaml.MappingNode:
		if err := node.Decode(&fitting); err != nil {
			return err
		}
		for i, n := range append(fitting.Fit, fitting.Most...) {
			if i == 0 || n <= processors {
				numbers = append(numbers, n)
			}
		}
		if fitting.Most != nil {
			numbers = numbers[len(numbers)-1:]
		}
	case yaml.SequenceNode:
		for _, item := range node.Content {
			switch item.Value {
			case "processors":
				*item = *scalar(processors, item.Line)
			case "several":
				*item = *scalar(max(2, processors), item.Line)
			}
		}
		node.Content = slices.CompactFunc(node.Content, func(a, b *yaml.Node) bool { return a.Value == b.Value })
		if len(node.Content) > 0 {
			return nil
		}
	default:
		for n := 1; node.Value == "doubling" && n < processors; n *= 2 {
			numbers = append(numbers, n)
		}
		if node.Value == "doubling" {
			numbers = append(numbers, processors)
		}
	}
	if len(numbers) == 0 {
		return fmt.Errorf("line %d: %q must be a list, doubling, {fit: LIST} or {most: LIST}", node.Line, node.Value)
	}
	list := yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: node.Line}
	for _, n := range numbers {
		list.Content = append(list.Content, scalar(n, node.Line))
	}
	*node = list
	return nil
}

func scalar(n, line int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(n), Line: line}
}
