package note

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm/internal/ipc"
)

func TestNotes(t *testing.T) {
	n := New("samples", 6, 6)
	if n.Text != "fewer than 6 samples give no interval: set --reps 6 and raise --timeout" || n.Code != "samples" ||
		!maps.Equal(n.Args, map[string]any{"Least": 6, "Reps": 6}) {
		t.Errorf("%+v", n)
	}
	data, err := json.Marshal(n)
	const want = `{"code":"samples","args":{"Least":6,"Reps":6},"text":"fewer than 6 samples give no interval: set --reps 6 and raise --timeout"}`
	if err != nil || string(data) != want {
		t.Errorf("as JSON %s, %v", data, err)
	}
	for text, want := range map[string]Note{
		"wide spread: repeat on a quiet machine": {Code: Spread},
		"2 of 4 ranks have nothing to compute":   {Code: "idle", Args: map[string]any{"Idle": "2", "Ranks": "4"}},
		"it changes A: element (1, 2) was 3 and is 4": {Code: "kernel-changes",
			Args: map[string]any{"Operand": "A", "Row": "1", "Column": "2", "Was": "3", "Is": "4"}},
		"so it changes A: element (1, 2) was 3 and is 4": {},
		"wide spread": {}, "": {},
	} {
		want.Text = text
		if got := Read(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a code with too few arguments does not panic")
		}
	}()
	New("samples", 6)
}

// TestEachNoteArises checks that the program makes each note, by its code with its arguments or as the text of an
// error, and that it makes no other.
func TestEachNoteArises(t *testing.T) {
	made, program := map[string]bool{}, strings.Builder{}
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if d.IsDir() && name != "../.." && strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(name, "internal/note") {
			return fs.SkipDir
		}
		if source := strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".c"); err != nil || !source ||
			strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		program.Write(text)
		if err != nil || !strings.Contains(string(text), "note.New(") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || types.ExprString(call.Fun) != "note.New" {
				return true
			}
			code := strings.Trim(types.ExprString(call.Args[0]), `"`)
			code = map[string]string{"note.Spread": Spread, "note.NoTimeline": NoTimeline}[code] + code
			code = strings.TrimSuffix(strings.TrimSuffix(code, "note.Spread"), "note.NoTimeline")
			i := slices.IndexFunc(forms(), func(f form) bool { return f.code == code })
			if code != "why" && (i < 0 || len(forms()[i].args) != len(call.Args)-1) {
				t.Errorf("%s: there is no note %s with %d arguments", name, code, len(call.Args)-1)
			}
			made[code] = true
			return true
		})
		return nil
	})
	if err != nil || !made["samples"] {
		t.Fatalf("no note is found: %v", err)
	}
	for _, status := range []string{"", "signal %s", "exit status %d"} { // as internal/peer has it
		fmt.Fprintf(&program, "%q", ipc.ExitError{Name: "its process", Status: status})
	}
	made["fewer"], made["beyond"] = made["why"], made["why"]
	const verb = `(%[][.0-9]*[a-z]+(\.%[a-z])?|" ?\+)`
	for _, f := range forms() {
		if made[f.code] {
			continue
		}
		pattern := argument.ReplaceAllLiteralString(f.text, "\x00")
		pattern = strings.ReplaceAll(regexp.QuoteMeta(pattern), "\x00", verb)
		if !regexp.MustCompile(`"(error )?` + pattern).MatchString(program.String()) {
			t.Errorf("%s: the program says nowhere %q", f.code, f.text)
		}
	}
}
