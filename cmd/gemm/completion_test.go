package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gemm/cmd/gemm/cmdline"
	"gemm/gemmtest"
)

// completed returns the words that a shell proposes for the last word of a command line, without descriptions.
func completed(t *testing.T, line string) []string {
	t.Helper()
	var stdout, stderr strings.Builder
	words := strings.Split(line, " ")
	last := len(words) - 1
	words = append(words[:last], "="+words[last], "--generate-bash-completion")
	if err := runApp(t.Context(), words, &stdout, &stderr); err != nil || stderr.Len() > 0 {
		t.Fatalf("%q: %v, %s", line, err, stderr.String())
	}
	var found []string
	for line := range strings.Lines(stdout.String()) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		found = append(found, word)
	}
	return found
}

// TestCompletion completes words of every kind.
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"gemm comp":                             "compare completion",
		"gemm serial":                           "serial",
		"gemm rs ":                              "encode verify reconstruct protect check repair",
		"gemm rs check ":                        ":files",
		"gemm rs protect file --da":             "--data",
		"gemm rs protect file --matrix c":       "cauchy",
		"gemm rs en":                            "encode",
		"gemm completion ":                      "bash zsh fish",
		"gemm --ve":                             "--version",
		"gemm nosuch":                           "",
		"gemm nosuch word":                      "",
		"gemm serial --va":                      "--variants",
		"gemm serial --variants x --va":         "",
		"gemm serial --nosuch --va":             "--variants",
		"gemm serial --sizes 5":                 ":more",
		"gemm serial --reps ":                   "",
		"gemm serial --variants serial/pa":      "serial/packed :more",
		"gemm serial --variants=serial/pa":      "--variants=serial/packed :more",
		"gemm serial -variants serial/pa":       "serial/packed :more",
		"gemm serial --variants serial/ikj,":    "",
		"gemm serial --variants mpi/":           ":more",
		"gemm serial --type f64,f":              "f64,f32 f64,f16 :more",
		"gemm parallel --schedule dyn":          "dynamic :more",
		"gemm compare --profile q":              "quick",
		"gemm compare --families=serial,par":    "--families=serial,parallel :more",
		"gemm compare --lang ":                  "en zh",
		"gemm compare --out ":                   ":folders",
		"gemm compare --out=":                   ":folders",
		"gemm report --in a.json --in ":         ":files",
		"gemm serial --bring ":                  ":files",
		"gemm new-kernel ":                      "c cuda",
		"gemm report --in a.json --i":           "--in",
		"gemm report --format html,m":           "html,md :more",
		"gemm multiply --a A.npy --variant cud": "",
		"gemm rs encode --matrix vander":        "vandermonde",
		"gemm cuda occupancy --sw":              "--sweep",
	} {
		got := completed(t, line)
		switch line {
		case "gemm serial --variants serial/ikj,": // every other variant of the family, and libraries
			if len(got) != len(ladders[0].nameable()) || !slices.Contains(got, "serial/ikj,reference/torch") ||
				slices.Contains(got, "serial/ikj,serial/ikj") ||
				!slices.Contains(got, "serial/ikj,serial/naive") {
				t.Errorf("%q: got %q", line, got)
			}
		case "gemm multiply --a A.npy --variant cud":
			if !slices.Equal(got, namesOf(family("cuda"))) {
				t.Errorf("%q: got %q", line, got)
			}
		default:
			if strings.Join(got, " ") != want {
				t.Errorf("%q: got %q, want %q", line, got, want)
			}
		}
	}
}

// TestCompletionOfEveryFlag: after a dash, a command has all of its flags.
func TestCompletionOfEveryFlag(t *testing.T) {
	for _, c := range withBelow("", newApp(nil, nil).Commands) {
		got := completed(t, "gemm "+c.Name+" -")
		for _, f := range visible(c.Flags) {
			if name := "--" + f.Names()[0]; !slices.Contains(got, name) {
				t.Errorf("gemm %s: %s is missing in %q", c.Name, name, got)
			}
		}
		if slices.Contains(got, "--"+taskName) {
			t.Errorf("gemm %s: the hidden flag is shown", c.Name)
		}
	}
}

// TestCompletionRequest: without the mark of the scripts, the flag of the library is unknown.
func TestCompletionRequest(t *testing.T) {
	for _, args := range [][]string{
		{"gemm", "serial", "--generate-bash-completion"}, {"gemm", "serial", "x", "--generate-bash-completion"},
	} {
		var out strings.Builder
		if err := runApp(t.Context(), args, &out, &out); status(err) != statusUsage || out.Len() > 0 {
			t.Errorf("%q: got %v, %q", args, err, out.String())
		}
	}
}

// shellTests are what shells run after the script, with what they print. In bash, readline separates words at = and :.
var shellTests = map[string][]struct{ command, want string }{
	"bash": {
		{`COMP_WORDS=(gemm serial --variants serial/naive,serial/pac)`, "serial/naive,serial/packed"},
		{`COMP_WORDS=(gemm serial --variants = serial/naive,serial/pac)`, "serial/naive,serial/packed"},
		{`COMP_WORDS=(gemm compare --profile =)`, "quick full parallel mpi cuda peers gf256 course figures print"},
		{`COMP_WORDS=(gemm compare --resume --pro)`, "--profile"},
		{`COMP_WORDS=(gemm report --in "a f")`, "a file.json"},
		{`COMP_WORDS=(gemm report --in = a)`, "a file.json"},
		{`COMP_WORDS=(gemm report --out "")`, "folder"},
		{`COMP_WORDS=(gemm tune --fam)`, "--families"},
	},
	"zsh": {
		{`words=(gemm serial --variants serial/naive,serial/pac)`, "serial/naive,serial/packed"},
		{`words=(gemm serial --variants=serial/naive,serial/pac)`, "--variants=serial/naive,serial/packed"},
		{`words=(gemm compare --resume --pro)`, "--profile"},
		{`words=(gemm report --in '')`, "_files"},
		{`words=(gemm report --out '')`, "_files -/"},
	},
	"fish": {
		{`complete -C "gemm serial --variants serial/naive,serial/pac"`, "serial/naive,serial/packed"},
		{`complete -C "gemm compare --profile=qui"`, "--profile=quick"},
		{`complete -C "gemm compare --resume --pro"`, "--profile"},
	},
}

// shellFrames are what comes before the script, in place of what a prompt has, and what comes after
// the command of a test, to complete and to print.
var shellFrames = map[string][2]string{
	"bash": {"compopt() { :; }\n", "; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _gemm; echo \"${COMPREPLY[*]}\"\n"},
	"zsh": {"compdef() { :; }; compset() { :; }; _files() { echo _files $*; }; compadd() { echo $candidates; }\n",
		"; CURRENT=$#words; _gemm\n"},
	"fish": {"", " | string replace -r '\\t.*' ''\n"},
}

// TestCompletionInShells has each shell that is here complete words by its script.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gemmtest.Must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	write(t, filepath.Join(dir, "a file.json"), "")
	for _, name := range cmdline.Shells() {
		t.Run(name, func(t *testing.T) {
			shell, err := exec.LookPath(name)
			gemmtest.Require(t, name, err)
			script := shellFrames[name][0] + string(cmdline.Script(name))
			var want strings.Builder
			for _, test := range shellTests[name] {
				script += test.command + shellFrames[name][1]
				want.WriteString(test.want + "\n")
			}
			file := filepath.Join(dir, "script."+name)
			write(t, file, script)
			cmd := exec.CommandContext(t.Context(), shell, file)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+dir, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
			got, err := cmd.CombinedOutput()
			if err != nil || string(got) != want.String() {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, want.String())
			}
		})
	}
}
