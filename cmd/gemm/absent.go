package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"gemm"
)

// absent are the commands of families and tools that are not written yet.
var absent = []struct{ name, what string }{
	{"rs", "Reed–Solomon coding"},
}

// absentNames returns the names of the absent commands.
func absentNames() []string {
	var names []string
	for _, a := range absent {
		names = append(names, a.name)
	}
	return names
}

// absentCommand answers that the command is unavailable, whatever its flags are.
func absentCommand(a struct{ name, what string }) *cli.Command {
	return &cli.Command{
		Name: a.name, Hidden: true, HideHelp: true, SkipFlagParsing: true,
		Action: func(*cli.Context) error {
			return fmt.Errorf("gemm %s: %w: %s is not in this build yet; gemm --help shows what is", a.name, gemm.ErrUnavailable, a.what)
		},
	}
}
