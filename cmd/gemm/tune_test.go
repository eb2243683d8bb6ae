package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gemm/cmd/tune"
	"gemm/internal/kernel"
	"gemm/internal/settings"
	"gemm/internal/tuned"
)

// tuneBriefly is how the tests tune: with hardly any time.
var tuneBriefly = []string{"tune", "--time", "300ms"}

func TestTune(t *testing.T) {
	variables := tunedHost(t)
	other := tuned.Tune{Type: "f64", Kernel: "another", Values: tuned.Values{MC: 8, KC: 9, NC: 10}}
	path, err := settings.Save(tuned.Settings{Tuned: []tuned.Tune{other}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := start(t, dir, variables, append(tuneBriefly, "--json", "tuning.json")...)
	if r.status != 0 || r.stderr != "" || !strings.HasSuffix(r.stdout, "\nThe settings are in "+path+"\n") {
		t.Fatalf("%+v", r)
	}
	data, err := os.ReadFile(filepath.Join(dir, "tuning.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc tune.Result
	if err := json.Unmarshal(data, &doc); err != nil || doc.Schema != 1 || doc.File != path || len(doc.Trials) == 0 {
		t.Fatalf("%v, %+v", err, doc)
	}
	kept, err := settings.Read()
	if err != nil || len(kept.Tuned) != 3 {
		t.Fatalf("%+v, %v", kept, err)
	}
	if found, _ := kept.Find("f64", "another"); found != other {
		t.Errorf("the settings of another kernel are now %+v", found)
	}
	for typ, name := range map[string]string{"f64": kernel.Best[float64]().Name, "f32": kernel.Best[float32]().Name} {
		found, ok := kept.Find(typ, name)
		if !ok || found.MC < 1 || time.Since(found.Time) > time.Hour || found.Cores < 1 || found.Revision == "" {
			t.Errorf("%s: %+v, %v", typ, found, ok)
		}
		for _, setting := range []string{"blocks", "direct", "cutoff"} {
			if !slices.ContainsFunc(doc.Chosen, func(c tune.Choice) bool {
				return c.Type == typ && c.Kernel == name && c.Setting == setting && c.Default != "" && c.Chosen != "" &&
					(c.Chosen == c.Default) == (c.Gain == nil)
			}) {
				t.Errorf("nothing is said of %s %s: %+v", typ, setting, doc.Chosen)
			}
		}
	}
	for _, c := range doc.Chosen {
		if !strings.Contains(r.stdout, c.Chosen) {
			t.Errorf("the table lacks %s", c.Chosen)
		}
	}
	if text := start(t, "", variables, "info").stdout; strings.Count(text, "tuned on ") != 2 {
		t.Errorf("info after tune:\n%s", text)
	}

	// A file that cannot be used is replaced.
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	r = start(t, "", variables, append(tuneBriefly, "--json", "-")...)
	if r.status != 0 || strings.Count(r.stderr, "\n") != 1 ||
		!strings.HasPrefix(r.stderr, "gemm tune: "+path+" is ignored") {
		t.Errorf("with a corrupt file: %d, %q", r.status, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil {
		t.Errorf("--json -: %v", err)
	}
	if kept, err := settings.Read(); err != nil || len(kept.Tuned) != 2 {
		t.Errorf("with a corrupt file: %+v, %v", kept, err)
	}
}

func TestTuneRefuses(t *testing.T) {
	variables := tunedHost(t)
	dir := t.TempDir()
	failWith(t, dir, variables, 2, `--families "mpi": must be one or more of serial`, "tune", "--families", "mpi")
	failWith(t, dir, variables, 2, "--time 0s: must be a positive duration", "tune", "--time", "0")
	// Before anything is measured.
	failWith(t, dir, variables, 1, "absent/x.json: cannot be written", "tune", "--json", "absent/x.json")
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var below []string
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		below = append(below, name+"="+filepath.Join(dir, "file"))
	}
	failWith(t, dir, append(variables, below...), 1,
		"cannot be written: not a directory; make its folder writable", "tune")
	failWith(t, dir, append(variables, "XDG_CONFIG_HOME=", "HOME=", "AppData="), 1,
		"there is no folder for the settings", "tune")
}

// Ctrl-C leaves the settings as they were.
func TestTuneIsInterrupted(t *testing.T) {
	variables := tunedHost(t)
	path := plant(t, tuned.Values{Cutoff: 33})
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Dir(path), old, old); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), binary, "tune")
	cmd.Env, cmd.Stderr = append(os.Environ(), variables...), &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The folder is tried out just before measuring begins.
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(filepath.Dir(path)); err == nil && time.Since(info.ModTime()) < time.Minute {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the folder was not tried within 30 s")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status is looked at below
	if got := cmd.ProcessState.ExitCode(); got != 130 ||
		!strings.Contains(stderr.String(), "interrupted; the settings are what they were") {
		t.Errorf("status %d, want 130; %q", got, stderr.String())
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file is now %q, %v", after, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v, %v", left, err)
	}
}
