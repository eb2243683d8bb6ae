package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"gemm/gemmtest"
)

// manualPage returns the manual page.
func manualPage(t *testing.T) string {
	t.Helper()
	var stdout, stderr strings.Builder
	if err := runApp(t.Context(), []string{"gemm", "man"}, &stdout, &stderr); err != nil || stderr.Len() > 0 {
		t.Fatal(err, stderr.String())
	}
	return stdout.String()
}

// TestManualHasAllOptions looks for every command and option in the manual page, for the sections that pages have, and
// for the variables in docs/options.md that are not for tests.
func TestManualHasAllOptions(t *testing.T) {
	page := strings.ReplaceAll(manualPage(t), `\-`, "-")
	for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "EXIT STATUS", "ENVIRONMENT",
		"FILES", "EXAMPLES", "SEE ALSO"} {
		if !strings.Contains(page, "\n.SH "+section+"\n") {
			t.Errorf("there is no section %s", section)
		}
	}
	for _, c := range withBelow("", newApp(nil, nil).Commands) {
		_, after, found := strings.Cut(page, "\n.SS gemm "+c.Name+"\n")
		if !found {
			t.Errorf("gemm %s is missing", c.Name)
		}
		own, _, _ := strings.Cut(after, "\n.S")
		for _, f := range visible(c.Flags) {
			if option := `\fB--` + f.Names()[0] + `\fP`; !strings.Contains(own, "\n"+option) {
				t.Errorf("gemm %s: there is no %s", c.Name, option)
			}
		}
	}
	options := read(t, "../../docs/options.md")
	for _, row := range regexp.MustCompile("(?m)^\\| `(GEMM_[A-Z_]+)` ").FindAllStringSubmatch(options, -1) {
		if name := row[1]; !strings.HasPrefix(name, "GEMM_TEST") && !strings.Contains(page, name) {
			t.Errorf("%s is in docs/options.md, and not in cmdline/manual.md", name)
		}
	}
}

// TestManualExamples checks that the options in the examples exist.
func TestManualExamples(t *testing.T) {
	page := strings.ReplaceAll(manualPage(t), `\-`, "-")
	_, examples, _ := strings.Cut(page, "\n.SH EXAMPLES\n")
	commands := withBelow("", newApp(nil, nil).Commands)
	found := 0
	example := regexp.MustCompile(`(?m)^(?:mpirun .*)?gemm ([a-z]+(?: [a-z]+)?)(.*)$`)
	for _, line := range example.FindAllStringSubmatch(examples, -1) {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == line[1] })
		if i < 0 {
			t.Errorf("%s: there is no such command", line[0])
			continue
		}
		found++
		for _, word := range strings.Fields(line[2]) {
			named := func(f cli.Flag) bool { return "--"+f.Names()[0] == word }
			if strings.HasPrefix(word, "--") && !slices.ContainsFunc(commands[i].Flags, named) {
				t.Errorf("%s: there is no option %s", line[0], word)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d examples are found", found)
	}
}

// TestManualIsFormatted has groff format the page, with all of its warnings.
func TestManualIsFormatted(t *testing.T) {
	groff, err := exec.LookPath("groff")
	gemmtest.Require(t, "groff", err)
	cmd := exec.CommandContext(t.Context(), groff, "-k", "-ww", "-man", "-Tutf8")
	var warnings strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(manualPage(t)), &warnings
	text, err := cmd.Output()
	if err != nil || warnings.Len() > 0 || !strings.Contains(string(text), "Reed–Solomon") {
		t.Errorf("%v: %s", err, warnings.String())
	}
}
