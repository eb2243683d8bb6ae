package plan

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gemm/compare/record"
	"gemm/gemmtest"

	"gemm"
)

// TestValues reads the values of a parameter on hosts with different numbers of processors.
func TestValues(t *testing.T) {
	for _, test := range []struct {
		yaml       string
		processors int
		want       string
	}{
		{"doubling", 1, "[1]"}, {"doubling", 2, "[1 2]"}, {"doubling", 6, "[1 2 4 6]"}, {"doubling", 16, "[1 2 4 8 16]"},
		{"[1, processors]", 1, "[1]"}, {"[1, processors]", 6, "[1 6]"}, {"[several]", 1, "[2]"}, {"[several]", 6, "[6]"},
		{"{fit: [2, 4, 9]}", 1, "[2]"}, {"{fit: [2, 4, 9]}", 6, "[2 4]"}, {"{most: [1, 4, 9]}", 6, "[4]"},
		{"[static, 4x32x2]", 6, "[static 4x32x2]"},
	} {
		p, err := ReadProfile("a.yaml", []byte("experiments: [{sweep: {a: "+test.yaml+"}}]"), nil, test.processors)
		if err != nil || fmt.Sprint(p.Experiments[0].Sweep["a"]) != test.want {
			t.Errorf("%s on %d processors: %+v, %v, want %s", test.yaml, test.processors, p.Experiments, err, test.want)
		}
	}
}

// TestWrongProfiles reads files with one mistake each: the error names the file, the line and what to write.
func TestWrongProfiles(t *testing.T) {
	known := []gemm.Variant{variant("serial/naive"), shared("parallel/rows")}
	for text, want := range map[string]string{
		"":                               "my.yaml: it is empty",
		"doc: a\nbudgte: {reps: 6}":      `my.yaml: line 2: there is no key "budgte"; the nearest is "budget"`,
		"budget: {tiem: 1s}":             `my.yaml: line 1: there is no key "tiem"; the nearest is "time"`,
		"types: [f64,\n f66]":            `my.yaml: line 2: there is no type "f66"; the nearest is "f64"`,
		"ladder:\n- {roles: [libary]}":   `my.yaml: line 2: there is no role "libary"; the nearest is "library"`,
		"ladder:\n- {only: {on: [cpu]}}": `my.yaml: line 2: there is no place "cpu"; the nearest is "gpu"`,
		"ladder:\n- {only:\n  {variants: [serial/niave]}}": `my.yaml: line 3: there is no variant "serial/niave"; ` +
			`the nearest is "serial/naive"`,
		"experiments:\n- {experiment: storng}": `my.yaml: line 2: there is no experiment "storng"; the nearest is "strong"`,
		"experiments:\n- sweep:\n    treads: doubling": `my.yaml: line 3: there is no parameter "treads"; ` +
			`the nearest is "threads"`,
		"experiments:\n- {families: [serail]}": `my.yaml: line 2: there is no family "serail"; the nearest is "serial"`,
		"shapes:\n- 64\n- 64x64":               `my.yaml: line 3: the shape "64x64": must be a positive integer n, or MxNxK`,
		"ranks: [0]":                           "my.yaml: line 1: 0 must be a positive integer, processors or several",
		"threads: doubled":                     `my.yaml: line 1: "doubled" must be a list, doubling, {fit: LIST} or {most: LIST}`,
		"ceilings: long":                       "my.yaml: unmarshal errors: line 1: cannot unmarshal !!str `long` into time.Duration",
		"shapes: [64]\n---\nshapes: [65]":      "my.yaml: it has several documents: keep one",
		"types: {a: [":                         "my.yaml: line 1: did not find expected node content",
	} {
		if _, err := ReadProfile("my.yaml", []byte(text), known, 2); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestKeysOfProfiles checks that the document on profiles has each key and each word that a profile can have.
func TestKeysOfProfiles(t *testing.T) {
	text, err := os.ReadFile("../../docs/profiles.md")
	gemmtest.Must(t, err)
	var words []string
	for _, typ := range []reflect.Type{reflect.TypeFor[Profile](), reflect.TypeFor[Budget](),
		reflect.TypeFor[rule](), reflect.TypeFor[Range](), reflect.TypeFor[study]()} {
		words = slices.AppendSeq(words, maps.Keys(fieldsOf(typ)))
	}
	words = slices.Concat(words, roles, classes, places)
	for _, e := range record.Experiments {
		words = append(words, string(e))
	}
	for _, word := range words {
		if word != "selection" && !strings.Contains(string(text), "`"+word+"`") {
			t.Errorf("docs/profiles.md lacks `%s`", word)
		}
	}
}
