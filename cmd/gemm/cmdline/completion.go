package cmdline

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

//go:embed gemm.bash gemm.zsh gemm.fish
var scripts embed.FS

// Shells returns the names of the shells that there are scripts for.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Script returns the script of a shell.
func Script(shell string) []byte {
	script, err := scripts.ReadFile("gemm." + shell)
	if err != nil {
		panic(err) // of this program
	}
	return script
}

// The scripts of the shells run the command line itself, as package cli has it. Its last arguments are the word to
// complete, behind the mark, and the request. The mark keeps package cli from reading the word as a command, a flag or
// the end of the flags.
const (
	request = "--generate-bash-completion"
	mark    = "="
)

// The last line of an answer may say how to go on: with names of files or of folders, or without
// a space behind the word, as an entry of a list may follow.
const (
	files   = ":files"
	folders = ":folders"
	more    = ":more"
)

// Complete makes app answer the scripts of the shells, given its arguments. describe returns the description of a word
// that a flag takes, empty for none.
func Complete(app *cli.App, args []string, describe func(word string) string) {
	if !IsCompletion(args) {
		return
	}
	last := len(args) - 1
	app.EnableBashCompletion = true
	answer := func(c *cli.Context) {
		suggest(app.Writer, c.Command, args[:last], describe)
	}
	app.BashComplete = answer
	var install func(commands []*cli.Command)
	install = func(commands []*cli.Command) {
		for _, c := range commands {
			c.BashComplete = answer
			install(c.Subcommands)
		}
	}
	install(app.Commands)
}

// IsCompletion reports whether a script of a shell has written the arguments.
func IsCompletion(args []string) bool {
	last := len(args) - 1
	return last >= 2 && args[last] == request && strings.HasPrefix(args[last-1], mark)
}

// TakesValue reports whether word is a flag of command whose value is the next word.
func TakesValue(command *cli.Command, word string) bool { return valued(command, word) != nil }

// suggest writes what the last of the words can become, one a line, with a tab and a description.
// The word before it belongs to command.
func suggest(out io.Writer, command *cli.Command, words []string, describe func(string) string) {
	current, previous := strings.TrimPrefix(words[len(words)-1], mark), words[len(words)-2]
	if name, _, ok := strings.Cut(current, "="); ok {
		if f := valued(command, name); f != nil {
			values(out, f, name+"=", current, describe)
		}
		return
	}
	if f := valued(command, previous); f != nil {
		values(out, f, "", current, describe)
		return
	}
	if !strings.HasPrefix(current, "-") {
		for _, c := range command.VisibleCommands() {
			line(out, current, c.Name, c.Usage)
		}
		if command.ArgsUsage != "" {
			fmt.Fprintln(out, files)
			return
		}
		if current != "" || len(command.VisibleCommands()) > 0 {
			return
		}
	}
	for _, f := range command.VisibleFlags() {
		_, repeated := f.(*cli.StringSliceFlag)
		if name := "--" + f.Names()[0]; repeated || !slices.Contains(words, name) {
			line(out, current, name, strings.ReplaceAll(f.(cli.DocGenerationFlag).GetUsage(), "`", ""))
		}
	}
}

// valued returns the flag of command that a word names, nil if there is none or it takes no value.
func valued(command *cli.Command, word string) cli.Flag {
	if !strings.HasPrefix(word, "-") {
		return nil
	}
	name := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	for _, f := range command.VisibleFlags() {
		if slices.Contains(f.Names(), name) && f.(cli.DocGenerationFlag).TakesValue() {
			return f
		}
	}
	return nil
}

// values writes the values of f that begin as current does, whose first part is prefix.
func values(out io.Writer, f cli.Flag, prefix, current string, describe func(string) string) {
	switch usage := f.(cli.DocGenerationFlag).GetUsage(); {
	case strings.HasPrefix(usage, "`FILE`"), strings.HasPrefix(usage, "`KERNEL`"):
		fmt.Fprintln(out, files)
		return
	case strings.HasPrefix(usage, "`DIR`"):
		fmt.Fprintln(out, folders)
		return
	}
	generic, ok := f.(*cli.GenericFlag)
	if !ok {
		return
	}
	choices, ok := generic.Value.(interface{ words() ([]string, bool) })
	if !ok {
		return
	}
	known, several := choices.words()
	var given []string
	if several {
		if comma := strings.LastIndexByte(current, ','); comma >= 0 {
			given = strings.Split(strings.TrimPrefix(current[:comma], prefix), ",")
			prefix = current[:comma+1]
		}
	}
	for _, word := range known {
		if !slices.Contains(given, word) {
			line(out, current, prefix+word, describe(word))
		}
	}
	if several {
		fmt.Fprintln(out, more)
	}
}

// line writes a word, if it begins with current, and its description.
func line(out io.Writer, current, word, description string) {
	if strings.HasPrefix(word, current) {
		fmt.Fprintf(out, "%s\t%s\n", word, description)
	}
}
