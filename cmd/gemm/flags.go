package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/cmd/gemm/cmdline"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/half"
	"gemm/internal/cpu"
	"gemm/internal/settings"
	"gemm/internal/tuned"
)

// Flags that several commands have.

func jsonFlag(what string) cli.Flag {
	return &cli.StringFlag{Name: "json", Usage: "`FILE`: write " + what + " to FILE, or to standard output if it is -"}
}

func switchFlag(name, usage string) cli.Flag {
	return &cli.BoolFlag{Name: name, DisableDefaultText: true, Usage: usage}
}

func traceFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "trace",
		Usage: "`FILE`: " + usage + " to FILE, for Perfetto (Chrome trace events), or to standard output if it is -"}
}

// variantsFlag is the flag of variants, of which the first two are the example.
func variantsFlag(variants []gemm.Variant) *cli.GenericFlag {
	f := cmdline.ListFlag("variants", "", "all",
		fmt.Sprintf("`LIST`: variants, such as %s,%s", variants[0].Name, variants[1].Name), cmdline.Word)
	l := f.Value.(*cmdline.List[string])
	l.Blank, l.Known = true, namesOf(variants)
	return f
}

// variantFlag is the flag of the variant that multiplies elements of the type typ, any if it is
// empty, in this process or on a GPU.
func variantFlag(typ string) cli.Flag {
	variants := slices.DeleteFunc(catalog.Variants(), func(v gemm.Variant) bool {
		return v.Location == gemm.OnRanks || typ != "" && !slices.Contains(v.Types(), typ)
	})
	return cmdline.ChoiceFlag("variant", "", "the fastest here", "`NAME`: variant that multiplies", namesOf(variants))
}

func sizesFlag(value, def string) cli.Flag {
	f := cmdline.ListFlag("sizes", value, def,
		"`LIST`: sizes: n for n×n matrices, MxNxK for an M×K matrix times a K×N matrix, or "+
			"cs267 for 96 sizes from 31 to 1025", cmdline.Shape)
	f.Value.(*cmdline.List[gemm.Shape]).Short = map[string][]string{"cs267": mapped(plan.CourseSizes(), strconv.Itoa)}
	return f
}

// typeFlag is the flag of the element types that there are of the variants.
func typeFlag(variants []gemm.Variant, value, def string) cli.Flag {
	types := slices.DeleteFunc(gemm.TypeNames(), func(typ string) bool {
		return !slices.ContainsFunc(variants, func(v gemm.Variant) bool { return slices.Contains(v.Types(), typ) })
	})
	return cmdline.WordsFlag("type", value, def, "`LIST`: element types: "+strings.Join(types, ", "), types,
		cmdline.Among(gemm.TypeNames()))
}

// accuracyFlag is the flag of requests for accuracy, which rows meet.
func accuracyFlag(usage string) cli.Flag {
	return cmdline.ListFlag(accuracyName, "", "", "`LIST`: largest errors, such as 1e-3,1e-6: a table has the fastest "+
		"row whose bound is at most each"+usage, cmdline.Accuracy)
}

func resumeFlag() cli.Flag {
	return switchFlag("resume", "keep the existing records, and measure the rows that are missing or failed")
}

func forceFlag(usage string) cli.Flag { return switchFlag("force", usage) }

func noTunedFlag() cli.Flag {
	return switchFlag("no-tuned", "ignore the settings of gemm tune: use the default block sizes, cut-offs and tiles")
}

// isaFlag is the flag of the instruction set that a comparison is held to.
func isaFlag() cli.Flag {
	names := mapped(cpu.All(), func(isa cpu.ISA) string { return string(isa) })
	return cmdline.ChoiceFlag("isa", "", "the widest of this processor", "`SET`: instruction set that our kernels, the "+
		"libraries and the ceilings are held to, without rows of ranks and GPUs: "+strings.Join(names, ", "), names)
}

// applyISA applies --isa. It must be called before the first variant is looked up.
func applyISA(c *cli.Context) error {
	if !c.IsSet("isa") {
		return nil
	}
	if c.IsSet("bring") {
		return usagef("--isa %s: cannot hold the kernel of --bring: choose its instructions by --cflags, and leave "+
			"out --isa", c.String("isa"))
	}
	if err := cpu.Hold(cpu.ISA(c.String("isa"))); err != nil {
		return usagef("--isa %s: %v", c.String("isa"), err)
	}
	return nil
}

// applyTuned applies --no-tuned: this process, and those that it starts, ignore the tuned settings. Otherwise it prints
// what is wrong with them. It must be called before the first variant is looked up.
func applyTuned(c *cli.Context) {
	if c.Bool("no-tuned") {
		tuned.Disable()
		workerOf(c.Context).Environment = []string{settings.Variable + "=off"}
		return
	}
	if _, err := settings.Load(); err != nil {
		logf(c, "%v", err)
	}
}

// mode returns what to do with records that are there already.
func mode(c *cli.Context) (record.Mode, error) {
	switch {
	case c.Bool("resume") && c.Bool("force"):
		return 0, usagef("--resume keeps the records that are there and --force replaces them; choose one")
	case c.Bool("resume"):
		return record.Resume, nil
	case c.Bool("force"):
		return record.Replace, nil
	}
	return record.Create, nil
}

// modeFor is mode for records in the file of --json.
func modeFor(c *cli.Context, file string) (record.Mode, error) {
	how, err := mode(c)
	traces := c.String("trace") != "" && c.Bool("force")
	if err == nil && how != record.Create && (file == "" || file == stdoutName) && !traces {
		err = usagef("--resume and --force are for the records in --json FILE")
	}
	return how, err
}

// warnUnmeasured says in one line what the flags name and no row has.
func warnUnmeasured(c *cli.Context, cases []plan.Case) {
	var missing []string
	for _, flag := range []struct {
		name string
		of   func(plan.Case) any
	}{
		{"families", func(k plan.Case) any { return k.Variant.Family() }},
		{"variants", func(k plan.Case) any { return k.Variant.Name }},
		{"sizes", func(k plan.Case) any { return k.Base() }},
		{"type", func(k plan.Case) any { return k.Type }},
		{"threads", func(k plan.Case) any { return k.Params["threads"] }},
		{"np", func(k plan.Case) any { return k.Params["ranks"] }},
	} {
		if !c.IsSet(flag.name) {
			continue
		}
		var none []string
		for _, value := range c.Generic(flag.name).(interface{ Entries() []any }).Entries() {
			if value == "all" || slices.ContainsFunc(cases, func(k plan.Case) bool { return flag.of(k) == value }) {
				continue
			}
			if shape, ok := value.(gemm.Shape); ok {
				value = shape.Label()
			}
			none = append(none, fmt.Sprint(value))
		}
		if none != nil {
			missing = append(missing, "--"+flag.name+" "+strings.Join(none, ","))
		}
	}
	if missing != nil {
		logf(c, "not measured, since no row has it: %s", strings.Join(missing, " "))
	}
}

// checkWords returns an error for a word of the flag that is not among the known ones, which has
// those nearest to it. Where nothing is known every word is taken.
func checkWords(flag string, words, known []string) error {
	for _, word := range words {
		if len(known) > 0 && !slices.Contains(known, word) {
			return unknown("--"+flag, word, known)
		}
	}
	return nil
}

// anys returns the values as values of parameters.
func anys[T any](values []T) []any { return mapped(values, func(v T) any { return v }) }

func mapped[T, U any](items []T, f func(T) U) []U {
	out := make([]U, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}

// parseVariants returns the variants that --variants lists, in that order, from the nameable ones. all
// stands for those in from, and so does an empty list.
func parseVariants(parts []string, from, nameable []gemm.Variant) ([]gemm.Variant, error) {
	if len(parts) == 0 {
		return from, nil
	}
	var variants []gemm.Variant
	for _, part := range parts {
		if part == "all" {
			variants = append(variants, from...)
			continue
		}
		v, err := named(part, nameable)
		if other, found := gemm.Lookup(catalog.Variants(), part); err != nil && found == nil {
			return nil, usagef("--variants %s: name it to gemm %s, or to gemm compare without --families and --isa", part,
				measuredBy(other, "serial"))
		}
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

func named(name string, from []gemm.Variant) (gemm.Variant, error) {
	for _, v := range from {
		if v.Name == name {
			return v, nil
		}
	}
	return gemm.Variant{}, unknown("variant", name, namesOf(from))
}

func namesOf(variants []gemm.Variant) []string {
	return mapped(variants, func(v gemm.Variant) string { return v.Name })
}

func family(name string) []gemm.Variant {
	return slices.DeleteFunc(catalog.Variants(), func(v gemm.Variant) bool { return v.Family() != name })
}

// addressable is the memory that a process can address on the machines of today.
const addressable = 1 << 47

// checkMemory returns an error if need, in bytes, is more than what is available; it says what to do.
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
func checkCases(cases []plan.Case) error {
	for _, c := range cases {
		if err := c.Err(); err != nil {
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

// positive returns an error for a flag that is set and not positive, an integer or a duration.
func positive(c *cli.Context, names ...string) error {
	for _, name := range names {
		if !c.IsSet(name) {
			continue
		}
		switch v := c.Value(name).(type) {
		case int:
			if v < 1 {
				return usagef("--%s %d: must be a positive integer", name, v)
			}
		case time.Duration:
			if v <= 0 {
				return usagef("--%s %v: must be a positive duration, such as 2s", name, v)
			}
		}
	}
	return nil
}

const stdoutName = "-"

// writeAll writes data to w, and an error says that it was standard output.
func writeAll(w io.Writer, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// checkFactors returns an error unless --alpha and --beta are finite numbers of the types.
func checkFactors(c *cli.Context, types ...string) error {
	for _, name := range []string{"alpha", "beta"} {
		x := cmdline.FactorOf(c, name)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return usagef("--%s %v: must be a finite number", name, x)
		}
		for _, typ := range types {
			rounded := gemm.ByType(typ, as[float64], as[float32], as[half.F16], as[half.BF16], as[float64])(x)
			switch {
			case math.IsInf(rounded, 0):
				return usagef("--%s %v: is too large for %s, choose --type f64", name, x, typ)
			case x != 0 && rounded == 0:
				return usagef("--%s %v: is too small for %s, which would have 0 in its place; choose --type f64", name,
					x, typ)
			}
		}
	}
	return nil
}

func as[T gemm.Number](x float64) float64 { return gemm.ToFloat64(gemm.FromFloat64[T](x)) }
