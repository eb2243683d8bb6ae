package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare/plan"
	"gemm/cuda/userkernel"
	"gemm/user"
)

// The flags of the user's own kernels.
const (
	bringName  = "bring"
	cflagsName = "cflags"
)

// What --bring names: kernels for the processor, and kernels for a GPU.
const (
	hostKernels = "[NAME=]FILE[:FUNCTION][=ABI[:TYPE]] of a shared library or a source in C, C++ or Fortran; " +
		"ABI: square, rowmajor, fortran, cblas"
	gpuKernels = "[NAME=]FILE.cu[:FUNCTION][=cuda:TYPE] of a source in CUDA, or [NAME=]FILE.so:FUNCTION=cuda:TYPE of a " +
		"shared library"
)

// bringFlag is the flag of the user's own kernels, of the given kinds.
func bringFlag(kinds ...string) cli.Flag {
	return &cli.StringSliceFlag{Name: bringName,
		Usage: "`KERNEL`: measure your own kernel too, as user/NAME; " + strings.Join(kinds, ", or ") +
			"; may be repeated"}
}

// cflagsFlag is the flag of the compiler options of kernels for the processor.
func cflagsFlag() cli.Flag {
	return &cli.StringFlag{Name: cflagsName, DefaultText: user.DefaultFlags,
		Usage: "`OPTIONS`: compiler options for the sources of --bring"}
}

// launchFlags are the flags that say how kernels for a GPU are launched.
func launchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: userkernel.BlockFlag, DefaultText: "32x32",
			Usage: "`X,Y,Z`: threads of a block of the CUDA kernels of --bring"},
		&cli.StringFlag{Name: userkernel.GridFlag, DefaultText: "a thread for each element, x along N, y along M",
			Usage: "`X,Y,Z`: blocks of the CUDA kernels of --bring, by M, N and K, such as (N+31)/32,(M+31)/32"},
		&cli.StringFlag{Name: userkernel.SharedFlag, DefaultText: "0",
			Usage: "`BYTES`: dynamic shared memory of a block of the CUDA kernels of --bring, such as 16384 or 16KiB"},
	}
}

type userKernels struct {
	*user.Kernels // for the processor
	device        []userkernel.Kernel
}

// Variants returns all kernels as variants.
func (b userKernels) Variants() []gemm.Variant {
	return append(b.Kernels.Variants(), userkernel.Variants(nil, b.device)...)
}

func has(c *cli.Context, name string) bool {
	return slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

// readDeviceKernels reads the kernels for a GPU. Rows of an unreadable one have the reason.
func readDeviceKernels(c *cli.Context, kernels []user.Kernel) (out []userkernel.Kernel, err error) {
	if !has(c, userkernel.BlockFlag) {
		return nil, nil
	}
	var launch userkernel.Launch
	for name, to := range map[string]*userkernel.Dims{userkernel.BlockFlag: &launch.Block,
		userkernel.GridFlag: &launch.Grid} {
		if !c.IsSet(name) {
			continue
		}
		if *to, err = userkernel.ParseDims(c.String(name)); err != nil {
			return nil, usagef("--%s %v", name, err)
		}
	}
	if c.IsSet(userkernel.SharedFlag) {
		if launch.Shared, err = parseBytes(userkernel.SharedFlag, c.String(userkernel.SharedFlag)); err != nil {
			return nil, err
		}
	}
	for _, k := range kernels {
		g, err := userkernel.Read(user.Family+"/"+k.Name, k.Path, k.Symbol, k.Type, launch)
		if err != nil {
			g = userkernel.Kernel{Name: user.Family + "/" + k.Name, File: k.Path, Type: k.Type, Fault: oneLine(err)}
		}
		out = append(out, g)
	}
	for _, name := range []string{userkernel.BlockFlag, userkernel.GridFlag, userkernel.SharedFlag} {
		if c.IsSet(name) && len(out) == 0 {
			return nil, usagef("--%s: there is no source in CUDA among the kernels of --bring", name)
		}
	}
	return out, nil
}

// openKernels opens the kernels that --bring names. They have the given threads unless rows say otherwise. The caller
// closes them. If none of them can run, the error says why the first cannot.
func openKernels(c *cli.Context, threads int) (b userKernels, err error) {
	var kernels []user.Kernel
	for _, text := range c.StringSlice(bringName) {
		k, err := user.Parse(text)
		if err != nil {
			return b, usagef("--bring %s: %v", cmp.Or(text, `""`), err)
		}
		switch {
		case k.CUDA() && !has(c, userkernel.BlockFlag):
			return b, usagef("--bring %s: a source in CUDA is for gemm cuda and gemm compare", text)
		case !k.CUDA() && !has(c, cflagsName):
			return b, usagef("--bring %s: a kernel on a GPU is a .cu file, or a library with =cuda:TYPE; others are for "+
				"gemm serial, parallel and compare", text)
		}
		kernels = append(kernels, k)
	}
	if kernels, err = user.Distinct(kernels); err != nil {
		return b, usagef("--bring: %v", err)
	}
	isHost := func(k user.Kernel) bool { return !k.CUDA() }
	if b.device, err = readDeviceKernels(c, slices.DeleteFunc(slices.Clone(kernels), isHost)); err != nil {
		return b, err
	}
	if b.Kernels, err = openHostKernels(c, slices.DeleteFunc(kernels, user.Kernel.CUDA), threads); err != nil {
		return b, err
	}
	faults := b.Kernels.Faults()
	for _, g := range b.device {
		var fault error
		if g.Fault != "" {
			fault = errors.New(g.Fault)
		}
		faults = append(faults, fault)
	}
	if len(faults) > 0 && !slices.Contains(faults, nil) {
		b.Close()
		err = errors.New("--bring: " + oneLine(faults[0]))
	}
	return b, err
}

func openHostKernels(c *cli.Context, kernels []user.Kernel, threads int) (*user.Kernels, error) {
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

// checkKernels returns an error if there is no row of one of the kernels.
func checkKernels(own []gemm.Variant, cases []plan.Case) error {
	for _, v := range own {
		if !slices.ContainsFunc(cases, func(k plan.Case) bool { return k.Variant.Name == v.Name }) {
			return usagef("--bring: there is no row of %s, whose type is %s: see --type, --sizes and --profile", v.Name,
				v.Types()[0])
		}
	}
	return nil
}

// kernelTypes returns the element types to measure unless --type is given: the default, if a kernel has
// it, and what else a kernel needs that does not.
func kernelTypes(types []string, own []gemm.Variant) []string {
	if len(own) == 0 {
		return types
	}
	out := slices.DeleteFunc(slices.Clone(types), func(t string) bool {
		return !slices.ContainsFunc(own, func(v gemm.Variant) bool { return slices.Contains(v.Types(), t) })
	})
	for _, v := range own {
		if has := v.Types(); !slices.ContainsFunc(has, func(t string) bool { return slices.Contains(out, t) }) {
			out = append(out, has[0])
		}
	}
	return out
}

// newKernelCommand returns the command that writes a source to begin with, with a command below for each language.
func newKernelCommand() *cli.Command {
	c := &cli.Command{
		Name: "new-kernel", Usage: "write a kernel of your own to begin with, in C or CUDA",
		UsageText: "LANGUAGE [options]",
		Action: func(*cli.Context) error {
			return usagef("the language is missing: gemm new-kernel c or gemm new-kernel cuda")
		},
	}
	for _, s := range user.Starters() {
		c.Subcommands = append(c.Subcommands, &cli.Command{
			Name: s.Language, Usage: "write " + s.Title, UsageText: "[options]",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "out", Value: s.File, DefaultText: s.File,
					Usage: "`FILE`: write the source to FILE, or to standard output if it is -"},
				forceFlag("replace the existing file"),
			},
			Action: func(c *cli.Context) error { return newKernel(c, s) },
		})
	}
	return c
}

// newKernel writes the source that the flags name.
func newKernel(c *cli.Context, s user.Starter) error {
	name := c.String("out")
	if name == stdoutName {
		if c.Bool("force") {
			return usagef("--force is for the file in --out FILE")
		}
		source, _ := s.Source(s.File)
		return writeAll(c.App.Writer, []byte(source))
	}
	if err := s.Check(name); err != nil {
		return usagef("--out %v", err)
	}
	if err := checkReplace(c, name); err != nil {
		return err
	}
	source, command := s.Source(shellWord(name))
	if err := writeFile(c, name, []byte(source)); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "%s has a kernel that is correct and slow. Measure it, then make it faster:\n\n   %s\n",
		name, command)
	return nil
}
