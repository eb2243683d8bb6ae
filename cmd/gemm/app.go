package main

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/cmd/gemm/cmdline"
	"gemm/compare/plan"
	"gemm/internal/cpu"
	"gemm/internal/output"
	"gemm/internal/settings"
	"gemm/internal/tuned"
	"gemm/shard"
)

// runGemm runs the command line args, whose first element is the program's name. The
// error is the one line to be printed; status returns its exit status.
func runGemm(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	ctx, stdout, stderr = withWorkerCache(ctx), output.Screen{Writer: stdout}, output.Lines{Writer: stderr}
	found, _ := settings.Load() // applyTuned says what is wrong with them
	tuned.Use(found)
	if asRank(args) {
		return runRank(ctx, args, stdout, stderr)
	}
	if err := checkRanks(); err != nil {
		return fmt.Errorf("gemm: %w", err)
	}
	return runApp(ctx, args, stdout, stderr)
}

// runApp runs the command line args. It is an error that standard output cannot be written,
// also where the library writes it and does not look, as for --help.
func runApp(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	out := &checkedWriter{w: stdout}
	app := newApp(out, stderr)
	cmdline.Complete(app, args, describe)
	err := app.RunContext(ctx, flagsFirst(app.Commands, args))
	if err == nil && out.err != nil {
		return fmt.Errorf("gemm: standard output: %w", out.err)
	}
	return err
}

// flagsFirst returns args with the flags before the arguments, for a command that takes any: the library takes all
// words after the first argument for arguments.
func flagsFirst(commands []*cli.Command, args []string) []string {
	var c *cli.Command
	at := 1
	for ; at < len(args); at++ {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == args[at] })
		if i < 0 {
			break
		}
		c, commands = commands[i], commands[i].Subcommands
	}
	if c == nil || c.ArgsUsage == "" || cmdline.IsCompletion(args) {
		return args
	}
	first, rest := slices.Clone(args[:at]), []string{"--"}
	for at < len(args) {
		word := args[at]
		at++
		switch {
		case word == "--":
			rest = append(rest, args[at:]...)
			at = len(args)
		case !strings.HasPrefix(word, "-") || word == stdoutName:
			rest = append(rest, word)
		default:
			first = append(first, word)
			if cmdline.TakesValue(c, word) && at < len(args) {
				first = append(first, args[at])
				at++
			}
		}
	}
	return append(first, rest...)
}

// checkedWriter keeps the first error of a writer.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.err = cmp.Or(c.err, err)
	return n, err
}

// stringify is the library's text of a flag in the help.
var stringify = cli.FlagStringer

//go:embed help
var helpFiles embed.FS

func helpFile(name string) string {
	data, err := helpFiles.ReadFile("help/" + name)
	if err != nil {
		panic(err) // of this program
	}
	return string(data)
}

// descriptions returns the descriptions of help/commands.txt by the name of the command.
var descriptions = sync.OnceValue(func() map[string]string {
	var profiles strings.Builder
	for _, p := range plan.Profiles(cpu.Workers()) {
		fmt.Fprintf(&profiles, "   %-9s %s\n", p.Name, p.Doc)
	}
	text := strings.NewReplacer("{profiles}", profiles.String(), "{capabilities}", capabilities(), "{parity}",
		shard.ParityExtension).Replace(helpFile("commands.txt"))
	found := map[string]string{}
	for _, section := range strings.Split(text, "\n== ")[1:] {
		name, description, _ := strings.Cut(section, "\n")
		found[name] = strings.TrimSpace(description)
	}
	return found
})

// flagText is the text of a flag in the help. It differs from the library's in two points. It shows
// --a where the library shows -a; both are understood. And of a usage such as "`LIST`: sizes" it
// shows "--sizes LIST  sizes", as a man page does: without the placeholder before the colon.
func flagText(f cli.Flag) string {
	name, usage, _ := strings.Cut(stringify(f), "\t")
	if !strings.HasPrefix(name, "--") {
		name = "-" + name
	}
	words := strings.Fields(name)
	return name + "\t" + strings.TrimPrefix(usage, words[len(words)-1]+": ")
}

func newApp(stdout, stderr io.Writer) *cli.App {
	cli.FlagStringer = flagText
	app := &cli.App{
		Name:            "gemm",
		Description:     descriptions()["gemm"],
		Usage:           "every way to multiply matrices, measured, verified and compared",
		UsageText:       "gemm COMMAND [options]\ngemm COMMAND --help",
		Version:         builtAs().Version,
		Writer:          stdout,
		ErrWriter:       stderr,
		HideHelpCommand: true,
		// run returns the error, and main exits once.
		ExitErrHandler:            func(*cli.Context, error) {},
		DisableSliceFlagSeparator: true,
		OnUsageError: func(c *cli.Context, err error, _ bool) error {
			return flagError("gemm", err, nil, c.App.Commands)
		},
		CustomAppHelpTemplate: helpFile("app.tmpl"),
		Commands: []*cli.Command{
			compareCommand(), reportCommand(), ladders[0].command(), ladders[1].command(), ladders[2].command(),
			cudaCommand(ladders[3]), gradeCommand(), multiplyCommand(), rsCommand(), listCommand(), infoCommand(), tuneCommand(),
			newKernelCommand(), completionCommand(), manCommand(),
		},
	}
	for _, c := range app.Commands {
		addCommon(c, "gemm "+c.Name)
	}
	app.Action = func(c *cli.Context) error {
		if !c.Args().Present() {
			return cli.ShowAppHelp(c)
		}
		names := mapped(app.VisibleCommands(), func(known *cli.Command) string { return known.Name })
		return fmt.Errorf("gemm: %w; see gemm --help", unknown("command", c.Args().First(), names))
	}
	return app
}

// addCommon gives c and its subcommands what every command has: the help, errors of one line that
// begin with the name of the command, and no arguments besides flags.
func addCommon(c *cli.Command, name string) {
	var below []string
	for _, b := range c.Subcommands {
		addCommon(b, name+" "+b.Name)
		below = append(below, b.Name)
	}
	c.HideHelpCommand = true
	c.CustomHelpTemplate = helpFile("command.tmpl")
	c.Description = descriptions()[strings.TrimPrefix(name, "gemm ")]
	c.OnUsageError = func(x *cli.Context, err error, _ bool) error {
		return flagError(name, err, c.Flags, x.App.Commands)
	}
	action := c.Action
	c.Action = func(ctx *cli.Context) error {
		_, err := cpu.Detect() // an error in GEMM_CPU
		if ctx.Args().Present() && c.ArgsUsage == "" {
			err = stray(ctx.Args().First(), below, c.Flags, name)
		}
		if err == nil {
			err = action(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
}

// stray returns the error of an argument that is neither a flag nor one of the commands below. If
// it is a file, the error names the flags for files.
func stray(argument string, below []string, flags []cli.Flag, name string) error {
	known, hint := "flags", ""
	if below != nil {
		known += " and the command " + strings.Join(below, " or ")
	}
	var files []string
	for _, f := range flags {
		if strings.HasPrefix(f.(cli.DocGenerationFlag).GetUsage(), "`FILE`") {
			files = append(files, "--"+f.Names()[0])
		}
	}
	if _, err := os.Stat(argument); err == nil && files != nil {
		hint = "; files follow " + strings.Join(files, ", ")
	}
	return usagef("argument %q: there are only %s%s; see %s --help", argument, known, hint, name)
}

// flagError puts an error of package flag into this program's words.
func flagError(name string, err error, flags []cli.Flag, commands []*cli.Command) error {
	text := err.Error()
	if flag, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		flag = "--" + strings.TrimLeft(flag, "-")
		return fmt.Errorf("%s: %w", name, usagef("flag %q is unknown%s; see %s --help", flag,
			suggestFlag(flag, flagNames(flags), commands), name))
	}
	if flag, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return fmt.Errorf("%s: %w", name, usagef("--%s needs a value; see %s --help", strings.TrimLeft(flag, "-"), name))
	}
	if _, flag, ok := strings.Cut(text, " for flag -"); ok {
		if _, own, ok := strings.Cut(flag, ": --"); ok { // of a list
			return fmt.Errorf("%s: %w", name, usagef("--%s", own))
		}
	}
	text = strings.Replace(text, " for flag -", " for --", 1)
	return fmt.Errorf("%s: %w", name, usagef("%s; see %s --help", text, name))
}

// suggestFlag says which flag may be meant by one that is unknown: the same one of other commands, similar ones of this
// command, or a similar one of other commands.
func suggestFlag(flag string, own []string, commands []*cli.Command) string {
	having := map[string][]string{} // commands by flag
	for _, c := range commands {
		for _, f := range flagNames(c.Flags) {
			having[f] = append(having[f], "gemm "+c.Name)
		}
	}
	if near := catalog.Near(flag, own); having[flag] == nil && len(near) > 0 {
		return "; it may be " + strings.Join(near, " or ")
	}
	for _, near := range catalog.Near(flag, slices.Sorted(maps.Keys(having))) {
		return fmt.Sprintf("; %s is a flag of %s", near, strings.Join(having[near][:min(3, len(having[near]))], ", "))
	}
	return ""
}

func flagNames(flags []cli.Flag) []string {
	names := []string{"--help"}
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); ok && v.IsVisible() && f.Names()[0] != "help" {
			names = append(names, "--"+f.Names()[0])
		}
	}
	return names
}

// build is how the program was built.
type build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	GOAMD64 string `json:"goamd64,omitempty"`
	Tags    string `json:"tags,omitempty"`
	day     string // of the revision; empty: not known
}

// builtAs returns how this program was built.
func builtAs() build {
	b := build{Version: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "GOAMD64":
			b.GOAMD64 = s.Value
		case "-tags":
			b.Tags = s.Value
		case "vcs.time":
			b.day, _, _ = strings.Cut(s.Value, "T")
		}
	}
	return b
}

// completionCommand returns the command that prints the script by which a shell completes command lines of gemm.
func completionCommand() *cli.Command {
	shells := cmdline.Shells()
	c := &cli.Command{
		Name:      "completion",
		Usage:     "print the script by which a shell completes commands, options and variants",
		UsageText: strings.Join(shells, "|"),
		Action: func(*cli.Context) error {
			return usagef("the shell is missing: %s; see gemm completion --help", strings.Join(shells, ", "))
		},
	}
	for _, shell := range shells {
		c.Subcommands = append(c.Subcommands, &cli.Command{
			Name: shell, Usage: "print the script of " + shell,
			Action: func(c *cli.Context) error { return writeAll(c.App.Writer, cmdline.Script(shell)) },
		})
	}
	return c
}

// describe returns what the completion of a shell says of a word: what a variant does.
func describe(word string) string {
	v, _ := gemm.Lookup(catalog.Variants(), word)
	return v.Doc
}

func manCommand() *cli.Command {
	return &cli.Command{
		Name:  "man",
		Usage: "print the manual page",
		Action: func(c *cli.Context) error {
			page, err := cmdline.Manual(newApp(nil, nil), builtAs().day)
			if err != nil {
				return err
			}
			return writeAll(c.App.Writer, page)
		},
	}
}
