package main

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

// factor is the value of --alpha or --beta.
type factor float64

// Set implements cli.Generic. A number that float64 cannot hold is an error: strconv has an
// infinity for one that is too large, and 0 without an error for one that is too small.
func (f *factor) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errors.New("is too large for f64")
	case err != nil:
		return errors.New("wants a number")
	case x == 0 && strings.ContainsAny(mantissa(text), "123456789abcdfABCDF"):
		return errors.New("is too small for f64, which would have 0 in its place")
	}
	*f = factor(x)
	return nil
}

// String implements cli.Generic.
func (f *factor) String() string { return strconv.FormatFloat(float64(*f), 'g', -1, 64) }

// mantissa returns the digits of a number before its exponent.
func mantissa(text string) string {
	text = strings.ToLower(text)
	if digits, hexadecimal := strings.CutPrefix(strings.TrimLeft(text, "+-"), "0x"); hexadecimal {
		digits, _, _ = strings.Cut(digits, "p")
		return digits
	}
	digits, _, _ := strings.Cut(text, "e")
	return digits
}

// factorFlag returns the flag of a factor with the value that it has where it is not given.
func factorFlag(name string, value factor, defaultText, usage string) cli.Flag {
	return &cli.GenericFlag{Name: name, Value: &value, DefaultText: defaultText, Usage: "`FACTOR` of " + usage}
}

// factorOf returns the value of a factorFlag.
func factorOf(c *cli.Context, name string) float64 { return float64(*c.Generic(name).(*factor)) }

// checkFactors returns an error unless --alpha and --beta are finite numbers of the types.
func checkFactors(c *cli.Context, types ...string) error {
	for _, name := range []string{"alpha", "beta"} {
		x := factorOf(c, name)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return usagef("--%s %v: wants a finite number", name, x)
		}
		if !slices.Contains(types, "f32") {
			continue
		}
		switch {
		case math.IsInf(float64(float32(x)), 0):
			return usagef("--%s %v: is too large for f32, choose --type f64", name, x)
		case x != 0 && float32(x) == 0:
			return usagef("--%s %v: is too small for f32, which would have 0 in its place; choose --type f64", name, x)
		}
	}
	return nil
}
