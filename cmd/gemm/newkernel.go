package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"gemm/internal/starter"
)

// newKernelCommand returns the command that writes a source to begin with, with a command below for each language.
func newKernelCommand() *cli.Command {
	c := &cli.Command{
		Name: "new-kernel", Usage: "write a kernel of your own to begin with, in C or CUDA",
		UsageText:   "LANGUAGE [options]",
		Description: "Writes a source with a correct and slow kernel, and prints the command that measures it.",
		Action: func(*cli.Context) error {
			return usagef("the language is missing: gemm new-kernel c or gemm new-kernel cuda")
		},
	}
	for _, s := range starter.Starters() {
		c.Subcommands = append(c.Subcommands, &cli.Command{
			Name: s.Language, Usage: "write " + s.Title, UsageText: "[options]",
			Description: "Writes a source with a correct and slow kernel, and prints the command that measures it.",
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
func newKernel(c *cli.Context, s starter.Starter) error {
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
	source, command := s.Source(name)
	if err := writeFile(c, name, []byte(source)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.App.Writer,
		"%s has a kernel that is correct and slow. Measure it, then make it faster:\n\n   %s\n",
		name, command)
	return err
}
