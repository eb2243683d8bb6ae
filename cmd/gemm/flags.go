package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare"
	"gemm/internal/catalog"
	"gemm/internal/cpu"
	"gemm/internal/settings"
	"gemm/internal/tuned"
)

// Flags that several commands have.

func jsonFlag(what string) cli.Flag {
	return &cli.StringFlag{Name: "json", Usage: "write " + what + " to `FILE`, - for standard output"}
}

// variantsFlag is the flag of variants, of which the first two are the example.
func variantsFlag(variants []gemm.Variant) cli.Flag {
	return &cli.StringFlag{Name: "variants", DefaultText: "all", Usage: fmt.Sprintf("`LIST` of variants, such as %s,%s", variants[0].Name, variants[1].Name)}
}

func sizesFlag(value, def string) cli.Flag {
	return &cli.StringFlag{Name: "sizes", Value: value, DefaultText: def, Usage: "`LIST` of sizes: n for square matrices, MxNxK for C of M×N and k = K"}
}

// typeFlag is the flag of the element types that there are of the variants.
func typeFlag(variants []gemm.Variant, value, def string) cli.Flag {
	types := slices.DeleteFunc(slices.Clone(elementTypes), func(typ string) bool {
		return !slices.ContainsFunc(variants, func(v gemm.Variant) bool { return slices.Contains(v.Types(), typ) })
	})
	return &cli.StringFlag{Name: "type", Value: value, DefaultText: def, Usage: "`LIST` of element types: " + strings.Join(types, ", ")}
}

func resumeFlag() cli.Flag {
	return &cli.BoolFlag{Name: "resume", DisableDefaultText: true, Usage: "keep the records that are there and measure what is missing or failed"}
}

func forceFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "force", DisableDefaultText: true, Usage: usage}
}

func noTunedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-tuned", DisableDefaultText: true, Usage: "ignore what gemm tune measured here: block sizes, cut-offs and tiles at their defaults"}
}

// useTuned says what is wrong with the settings tuned on this host, which run has passed on,
// or has them ignored where --no-tuned is there, by the processes too that this one starts.
// It comes before the first variant is looked up.
func useTuned(c *cli.Context) {
	if c.Bool("no-tuned") {
		tuned.Disable()
		_ = os.Setenv(settings.Variable, "off") // it fails for names that cannot be
		return
	}
	if _, err := settings.Load(); err != nil {
		fmt.Fprintf(c.App.ErrWriter, "%s: %v\n", c.Command.HelpName, err)
	}
}

// mode returns what to do with records that are there already.
func mode(c *cli.Context) (compare.Mode, error) {
	switch {
	case c.Bool("resume") && c.Bool("force"):
		return 0, usagef("--resume keeps the records that are there and --force replaces them; choose one")
	case c.Bool("resume"):
		return compare.Resume, nil
	case c.Bool("force"):
		return compare.Replace, nil
	}
	return compare.Create, nil
}

// list returns the parts of a list separated by commas. The error names the flag.
func list(flag, text string) ([]string, error) {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		switch {
		case part == "":
			return nil, usagef("--%s %q: an entry is empty", flag, text)
		case slices.Contains(parts, part):
			return nil, usagef("--%s %q: %s is there twice", flag, text, part)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// chosen is list for a flag whose entries are among known ones.
func chosen(flag, text string, known []string) ([]string, error) {
	parts, err := list(flag, text)
	for _, part := range parts {
		if !slices.Contains(known, part) {
			return nil, usagef("--%s %q: wants one or more of %s", flag, part, strings.Join(known, ", "))
		}
	}
	return parts, err
}

// words is list for a flag whose entries are among known names; the error has those
// nearest to one that is not. Where nothing is known every word is taken.
func words(flag, text string, known []string) ([]any, error) {
	parts, err := list(flag, text)
	if err != nil {
		return nil, err
	}
	var values []any
	for _, part := range parts {
		if len(known) > 0 && !slices.Contains(known, part) {
			return nil, unknown("--"+flag, part, known)
		}
		values = append(values, part)
	}
	return values, nil
}

// elementTypes are the values of --type.
var elementTypes = []string{"f64", "f32", "gf256"}

// parseSizes returns the shapes that --sizes lists.
func parseSizes(text string) ([]gemm.Shape, error) {
	parts, err := list("sizes", text)
	if err != nil {
		return nil, err
	}
	var shapes []gemm.Shape
	for _, part := range parts {
		shape, err := gemm.ParseShape(part)
		if err != nil {
			return nil, usagef("--sizes %v", err)
		}
		if slices.Contains(shapes, shape) {
			return nil, usagef("--sizes: %s is there twice", part)
		}
		shapes = append(shapes, shape)
	}
	return shapes, nil
}

// integers returns the integers that the flag lists.
func integers(flag, text string) ([]any, error) {
	parts, err := list(flag, text)
	if err != nil {
		return nil, err
	}
	var values []any
	for _, part := range parts {
		value, err := strconv.Atoi(part)
		if err != nil {
			return nil, usagef("--%s %q: wants integers, separated by commas", flag, part)
		}
		values = append(values, value)
	}
	return values, nil
}

// parseVariants returns those of the given variants that --variants lists, in the
// order of the list, with what it names of more; all but more where the flag is not there
// or says all.
func parseVariants(text string, from []gemm.Variant, more ...gemm.Variant) ([]gemm.Variant, error) {
	if text == "" || text == "all" {
		return from, nil
	}
	parts, err := list("variants", text)
	if err != nil {
		return nil, err
	}
	var variants []gemm.Variant
	for _, part := range parts {
		if part == "all" {
			variants = append(variants, from...)
			continue
		}
		v, err := named(part, slices.Concat(from, more))
		if err != nil {
			return nil, fmt.Errorf("--variants: %w", err)
		}
		if slices.Contains(parts, "all") && slices.ContainsFunc(from, func(w gemm.Variant) bool { return w.Name == v.Name }) {
			continue // among all
		}
		variants = append(variants, v)
	}
	return variants, nil
}

// named returns the variant with the name.
func named(name string, from []gemm.Variant) (gemm.Variant, error) {
	var names []string
	for _, v := range from {
		if v.Name == name {
			return v, nil
		}
		names = append(names, v.Name)
	}
	return gemm.Variant{}, unknown("variant", name, names)
}

// family returns the variants of a family.
func family(name string) []gemm.Variant {
	return slices.DeleteFunc(catalog.Variants(), func(v gemm.Variant) bool { return v.Family() != name })
}

// addressable is the memory that a process can address on the machines of today.
const addressable = 1 << 47

// checkMemory returns an error where need, in bytes, is more than what is
// available; it says what to do.
func checkMemory(what string, need float64, remedy string) error {
	have := float64(cpu.Available())
	if have <= 0 {
		have = addressable
	}
	if need > have {
		return fmt.Errorf("%s needs %s of memory, %s are available: %s", what, bytes(need), bytes(have), remedy)
	}
	return nil
}

// bytes returns n in a unit of its size.
func bytes(n float64) string { return humanize.IBytes(uint64(math.Min(n, math.MaxInt64))) }

// checkCases returns an error unless the cases can be measured: they understand
// their parameters, and there is memory for each.
func checkCases(cases []compare.Case) error {
	for _, c := range cases {
		if _, err := c.Variant.Resolve(c.Params); err != nil {
			return usagef("%s: %s", c.Variant.Name, oneLine(err))
		}
	}
	for _, c := range cases {
		if err := checkMemory(c.String(), c.Bytes(), c.Smaller()); err != nil {
			return err
		}
	}
	return nil
}

// positive returns an error unless the flags, integers or durations, are positive.
func positive(c *cli.Context, names ...string) error {
	for _, name := range names {
		switch v := c.Value(name).(type) {
		case int:
			if v < 1 {
				return usagef("--%s %d: wants a positive integer", name, v)
			}
		case time.Duration:
			if v <= 0 {
				return usagef("--%s %v: wants a positive duration, such as 2s", name, v)
			}
		}
	}
	return nil
}

// stdoutName is the file name that means standard output.
const stdoutName = "-"

// writeAll writes data to w, and an error says that it was standard output.
func writeAll(w io.Writer, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}
