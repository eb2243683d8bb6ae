// Package cmdline has what a command line of gemm has besides its commands: the values of flags that are lists, choices
// or factors, the completion of words in shells, and the manual page.
package cmdline

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"gemm"
)

// List is the value of a flag that lists entries, separated by commas.
type List[T comparable] struct {
	Known []string            // what entries can be, if they are few words
	Short map[string][]string // entries that stand for others
	Blank bool                // whether an empty text is an empty list, and no error

	flag   string
	parse  func(entry string) (T, error) // the error says what is wanted
	text   string
	values []T
}

// ListFlag returns a flag with a list of entries, which parse checks. value is the text of the default entries, and def
// is the default in the help.
func ListFlag[T comparable](name, value, def, usage string, parse func(entry string) (T, error)) *cli.GenericFlag {
	l := &List[T]{flag: name, parse: parse}
	if value != "" {
		if err := l.Set(value); err != nil {
			panic(err) // of this program
		}
	}
	return &cli.GenericFlag{Name: name, Value: l, DefaultText: def, Usage: usage}
}

// WordsFlag returns a ListFlag of words, of which the known ones are proposed.
func WordsFlag(name, value, def, usage string, known []string, parse func(entry string) (string, error)) cli.Flag {
	f := ListFlag(name, value, def, usage, parse)
	f.Value.(*List[string]).Known = known
	return f
}

// Listed returns the entries of a ListFlag.
func Listed[T comparable](c *cli.Context, name string) []T { return c.Generic(name).(*List[T]).values }

// Entries returns the entries.
func (l *List[T]) Entries() (all []any) {
	for _, v := range l.values {
		all = append(all, v)
	}
	return all
}

// Set implements cli.Generic. The error begins with the flag.
func (l *List[T]) Set(text string) error {
	l.text, l.values = text, nil
	if text == "" && l.Blank {
		return nil
	}
	var entries []string
	for entry := range strings.SplitSeq(text, ",") {
		entry = strings.TrimSpace(entry)
		switch {
		case entry == "":
			return fmt.Errorf("--%s %q: an entry is empty", l.flag, text)
		case slices.Contains(entries, entry):
			return fmt.Errorf("--%s %q: %s is given twice", l.flag, text, entry)
		}
		entries = append(entries, entry)
	}
	for i, entry := range entries {
		if many, ok := l.Short[entry]; ok {
			entries = slices.Replace(entries, i, i+1, many...)
			break
		}
	}
	for _, entry := range entries {
		value, err := l.parse(entry)
		if err != nil {
			return fmt.Errorf("--%s %q: %w", l.flag, entry, err)
		}
		if slices.Contains(l.values, value) {
			return fmt.Errorf("--%s: %s is given twice", l.flag, entry)
		}
		l.values = append(l.values, value)
	}
	return nil
}

// String implements cli.Generic.
func (l *List[T]) String() string { return l.text }

func (l *List[T]) words() (known []string, several bool) { return l.Known, true }

// Among returns a parser of the known words.
func Among(known []string) func(entry string) (string, error) {
	return func(entry string) (string, error) {
		if !slices.Contains(known, entry) {
			return "", fmt.Errorf("must be one or more of %s", strings.Join(known, ", "))
		}
		return entry, nil
	}
}

// Word parses any word.
func Word(entry string) (string, error) { return entry, nil }

// Integer parses an integer.
func Integer(entry string) (int, error) {
	value, err := strconv.Atoi(entry)
	if err != nil {
		return 0, errors.New("must be integers, separated by commas")
	}
	return value, nil
}

// Accuracy parses a bound on an error.
func Accuracy(entry string) (float64, error) {
	value, err := strconv.ParseFloat(entry, 64)
	if err != nil || !(value > 0 && value < 1) {
		return 0, errors.New("must be numbers between 0 and 1, such as 1e-6, separated by commas")
	}
	return value, nil
}

// Shape parses a size, n or MxNxK.
func Shape(entry string) (gemm.Shape, error) {
	s, err := gemm.ParseShape(entry)
	if err != nil {
		return s, errors.New("must be a positive integer n, or MxNxK")
	}
	return s, nil
}

// choice is the value of a flag that is one of few words. The command checks it.
type choice struct {
	text  string
	known []string
}

// ChoiceFlag returns the flag of one of the known words, with the value that it has if it is not given and its text in
// the help.
func ChoiceFlag(name, value, def, usage string, known []string) cli.Flag {
	return &cli.GenericFlag{Name: name, Value: &choice{value, known}, DefaultText: def, Usage: usage}
}

// Set implements cli.Generic.
func (c *choice) Set(text string) error {
	c.text = text
	return nil
}

// String implements cli.Generic.
func (c *choice) String() string { return c.text }

func (c *choice) words() (known []string, several bool) { return c.known, false }

// factor is the value of --alpha or --beta.
type factor float64

// FactorFlag returns the flag of a factor with the value that it has if it is not given.
func FactorFlag(name string, value float64, defaultText, usage string) cli.Flag {
	f := factor(value)
	return &cli.GenericFlag{Name: name, Value: &f, DefaultText: defaultText, Usage: "`FACTOR`: factor of " + usage}
}

// FactorOf returns the value of a FactorFlag.
func FactorOf(c *cli.Context, name string) float64 { return float64(*c.Generic(name).(*factor)) }

// Set implements cli.Generic. A number that float64 cannot hold is an error. strconv returns an infinity for a number
// that is too large, but 0 without an error for one that is too small.
func (f *factor) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errors.New("is too large for f64")
	case err != nil:
		return errors.New("must be a number")
	}
	if exact, _, err := big.ParseFloat(text, 0, 53, big.ToNearestEven); x == 0 && (err != nil || exact.Sign() != 0) {
		return errors.New("is too small for f64, which would have 0 in its place")
	}
	*f = factor(x)
	return nil
}

// String implements cli.Generic.
func (f *factor) String() string { return strconv.FormatFloat(float64(*f), 'g', -1, 64) }
