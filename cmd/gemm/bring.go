package main

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare"
	"gemm/user"
)

// The flags of the user's own kernels.
const (
	bringName  = "bring"
	cflagsName = "cflags"
)

// bringFlags are the flags of kernels that users bring.
func bringFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: bringName,
			Usage: "`KERNEL`: measure your own kernel too, as user/NAME; FILE[:FUNCTION][=ABI] of a shared library or a source " +
				"in C or C++; ABI: square, rowmajor, fortran, cblas; may be repeated"},
		&cli.StringFlag{Name: cflagsName, DefaultText: user.DefaultFlags,
			Usage: "`OPTIONS`: compiler options for the sources of --bring"},
	}
}

// bring opens the kernels that --bring names. threads is the number of threads that they may use unless
// rows say otherwise. The caller closes them.
func bring(c *cli.Context, threads int) (*user.Kernels, error) {
	var kernels []user.Kernel
	for _, text := range c.StringSlice(bringName) {
		k, err := user.Parse(text)
		if err != nil {
			return nil, usagef("--bring %s: %v", text, err)
		}
		if k.CUDA() {
			return nil, usagef("--bring %s: a source in CUDA is for gemm cuda", text)
		}
		kernels = append(kernels, k)
	}
	kernels, err := user.Distinct(kernels)
	if err != nil {
		return nil, usagef("--bring: %v", err)
	}
	if c.IsSet(cflagsName) && !slices.ContainsFunc(kernels, user.Kernel.IsSource) {
		return nil, usagef("--cflags: there is no source among the kernels of --bring")
	}
	opened, err := user.Open(c.Context, kernels, user.Options{Flags: c.String(cflagsName), Threads: threads})
	if c.Context.Err() != nil {
		return opened, errInterrupted
	}
	if err != nil {
		return opened, errors.New("--bring: " + oneLine(err))
	}
	return opened, nil
}

// checkBrought returns an error if there is no row of one of the kernels.
func checkBrought(brought []gemm.Variant, cases []compare.Case) error {
	for _, v := range brought {
		if !slices.ContainsFunc(cases, func(k compare.Case) bool { return k.Variant.Name == v.Name }) {
			return usagef("--bring: there is no row of %s, whose type is %s: see --type, --sizes and --profile", v.Name,
				v.Types()[0])
		}
	}
	return nil
}

// broughtTypes returns the element types to measure unless --type is given: f64, and what else a kernel
// needs that has no f64.
func broughtTypes(types []string, brought []gemm.Variant) []string {
	out := slices.Clone(types)
	for _, v := range brought {
		if has := v.Types(); !slices.ContainsFunc(has, func(t string) bool { return slices.Contains(out, t) }) {
			out = append(out, has[0])
		}
	}
	return out
}
