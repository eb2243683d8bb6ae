package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"gemm/gemmtest/reporttest"
)

// The lines of docs/options.md that the table of options is between.
const (
	optionsBegin = "<!-- The options, from the help of each command. -->\n"
	optionsEnd   = "<!-- End of the options. -->\n"
)

// optionsTable returns the options of every command as a Markdown table.
func optionsTable() string {
	var b strings.Builder
	b.WriteString("\n| option | default | meaning |\n|---|---|---|\n")
	for _, c := range withBelow("", newApp(nil, nil).Commands) {
		for _, f := range visible(c.Flags) {
			documented := f.(cli.DocGenerationFlag)
			placeholder, meaning := unquote(documented.GetUsage())
			def := "none"
			if text := documented.GetDefaultText(); text != "" {
				def = strings.Trim(text, `"`)
			}
			if !documented.TakesValue() {
				def = "no"
			}
			option := strings.TrimSpace("--" + f.Names()[0] + " " + placeholder)
			fmt.Fprintf(&b, "| `gemm %s %s` | %s | %s |\n", c.Name, option, def, meaning)
		}
	}
	b.WriteString("\n")
	return b.String()
}

// withBelow returns commands with those below them, the name of each being what is typed
// after gemm.
func withBelow(prefix string, commands []*cli.Command) []*cli.Command {
	var all []*cli.Command
	for _, c := range commands {
		c.Name = prefix + c.Name
		all = append(append(all, c), withBelow(c.Name+" ", c.Subcommands)...)
	}
	return all
}

// visible returns the flags that the help shows.
func visible(flags []cli.Flag) []cli.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f cli.Flag) bool { return !f.(cli.VisibleFlag).IsVisible() })
}

// unquote returns the word in backquotes in the usage of a flag, and the usage as the help shows it.
func unquote(usage string) (placeholder, text string) {
	if parts := strings.Split(usage, "`"); len(parts) == 3 {
		placeholder = parts[1]
	}
	return placeholder, strings.TrimPrefix(strings.ReplaceAll(usage, "`", ""), placeholder+": ")
}

// TestOptionsAreDocumented compares docs/options.md with the help; -update writes
// the table.
func TestOptionsAreDocumented(t *testing.T) {
	const name = "../../docs/options.md"
	data := read(t, name)
	before, rest, found := strings.Cut(data, optionsBegin)
	table, after, foundEnd := strings.Cut(rest, optionsEnd)
	if !found || !foundEnd {
		t.Fatalf("%s lacks the lines %q and %q", name, optionsBegin, optionsEnd)
	}
	want := optionsTable()
	if *reporttest.Update {
		write(t, name, before+optionsBegin+want+optionsEnd+after)
		return
	}
	if table != want {
		t.Errorf("%s is behind the help: go test ./cmd/gemm -run Options -update; it should read:%s", name, want)
	}
}
