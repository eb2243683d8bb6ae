package main

import (
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"gemm/cmd/catalog"
	"gemm/cmd/gemm/completion"
	"gemm/cmd/gemm/manual"
)

// completionCommand returns the command that prints the script by which a shell completes command lines of gemm.
func completionCommand() *cli.Command {
	shells := completion.Shells()
	c := &cli.Command{
		Name:      "completion",
		Usage:     "print the script by which a shell completes commands, options and variants",
		UsageText: strings.Join(shells, "|"),
		Description: "make install puts the scripts where the shells look for them. Without it, the line for\n" +
			"~/.bashrc is:\n\n" +
			"   source <(gemm completion bash)",
		Action: func(*cli.Context) error {
			return usagef("the shell is missing: %s; see gemm completion --help", strings.Join(shells, ", "))
		},
	}
	for _, shell := range shells {
		c.Subcommands = append(c.Subcommands, &cli.Command{
			Name: shell, Usage: "print the script of " + shell,
			Action: func(c *cli.Context) error { return writeAll(c.App.Writer, completion.Script(shell)) },
		})
	}
	return c
}

// committed returns the day of the revision that this program was built from, empty if it is not known.
func committed() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if day, _, ok := strings.Cut(s.Value, "T"); ok && s.Key == "vcs.time" {
			return day
		}
	}
	return ""
}

// describe returns what the completion of a shell says of a word: what a variant does.
func describe(word string) string {
	for _, v := range catalog.Variants() {
		if v.Name == word {
			return v.Doc
		}
	}
	return ""
}

// manCommand returns the command that prints the manual page.
func manCommand() *cli.Command {
	return &cli.Command{
		Name:        "man",
		Usage:       "print the manual page",
		Description: "The page is for man -l -, or for a folder man1, where make install puts it.",
		Action: func(c *cli.Context) error {
			page, err := manual.Page(newApp(nil, nil), committed())
			if err != nil {
				return err
			}
			return writeAll(c.App.Writer, page)
		},
	}
}
