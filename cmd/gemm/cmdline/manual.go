package cmdline

import (
	_ "embed" // the text of the page
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

//go:embed manual.md
var manualText string // the sections that no command has

// section is the section of the manual that has commands of users.
const section = 1

// Manual returns the manual page of app in roff, with the date of the build, empty if it is not known. It changes app.
func Manual(app *cli.App, date string) ([]byte, error) {
	about, status, found := strings.Cut(app.Description, "Exit status:\n")
	if !found {
		return nil, fmt.Errorf("manual: the description of %s does not have its exit statuses", app.Name)
	}
	var commands strings.Builder
	addCommands(&commands, app.Name, app.VisibleCommands())
	app.Metadata = map[string]any{
		"date": date, "about": markdown(about), "commands": commands.String(), "status": statuses(status),
	}
	cli.MarkdownDocTemplate = manualText
	page, err := app.ToManWithSection(section)
	if err != nil {
		return nil, fmt.Errorf("manual: %w", err)
	}
	return []byte(dashes(page)), nil
}

// dashes returns a page in which every dash is one that can be copied to a shell. In roff a bare
// dash is a hyphen.
func dashes(page string) string {
	return strings.ReplaceAll(strings.ReplaceAll(page, `\-`, "-"), "-", `\-`)
}

// statuses returns lines with a number and a text as a list of definitions.
func statuses(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		number, meaning, _ := strings.Cut(strings.TrimSpace(line), " ")
		define(&b, "**"+number+"**", strings.TrimSpace(meaning))
	}
	return b.String()
}

// define adds a term, in Markdown, and the text that explains it.
func define(b *strings.Builder, term, text string) {
	fmt.Fprintf(b, "%s\n: %s\n\n", term, escape(text))
}

// addCommands adds the commands under a name, each with its options and the commands below it.
func addCommands(b *strings.Builder, name string, commands []*cli.Command) {
	for _, c := range commands {
		full := name + " " + c.Name
		fmt.Fprintf(b, "### %s\n\n%s.\n\n", full, escape(strings.ToUpper(c.Usage[:1])+c.Usage[1:]))
		if usage := strings.TrimSpace(c.UsageText); usage != "" {
			for line := range strings.Lines(full + " " + usage) {
				fmt.Fprintf(b, "    %s\n", strings.TrimSpace(line))
			}
			b.WriteString("\n")
		}
		b.WriteString(markdown(c.Description) + "\n\n")
		for _, f := range c.VisibleFlags() {
			if flag := f.(cli.DocGenerationFlag); flag.Names()[0] != "help" {
				addFlag(b, flag)
			}
		}
		addCommands(b, full, c.VisibleCommands())
	}
}

func addFlag(b *strings.Builder, f cli.DocGenerationFlag) {
	term, usage := "**--"+f.Names()[0]+"**", f.GetUsage()
	if parts := strings.SplitN(usage, "`", 3); len(parts) == 3 && parts[0] == "" {
		term += " *" + parts[1] + "*"
		usage = strings.TrimPrefix(parts[2], ": ")
	}
	if def := strings.Trim(f.GetDefaultText(), `"`); f.TakesValue() && def != "" {
		usage += " (default: " + def + ")"
	}
	define(b, term, strings.ReplaceAll(usage, "`", ""))
}

// markdown returns a text for the terminal in Markdown: lines that are indented stay as they are.
func markdown(text string) string {
	var b strings.Builder
	indented := false
	for line := range strings.Lines(text) {
		now := strings.HasPrefix(line, "   ")
		if now != indented && strings.TrimSpace(line) != "" {
			b.WriteString("\n")
			indented = now
		}
		if now {
			b.WriteString(" " + line)
		} else {
			b.WriteString(escape(line))
		}
	}
	return b.String()
}

// escape returns a text in which no sign is one of Markdown.
var escape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, ">", `\>`, "[", `\[`, "]", `\]`,
	"`", "\\`").Replace
