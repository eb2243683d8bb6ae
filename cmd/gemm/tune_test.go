package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm/cmd/tune"
	"gemm/gemmtest"
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
	gemmtest.Must(t, err)
	dir := t.TempDir()
	r := start(t, dir, variables, append(tuneBriefly, "--json", "tuning.json")...)
	if r.status != 0 || r.stderr != "" || !strings.HasSuffix(r.stdout, "\nThe settings are in "+path+"\n") {
		t.Fatalf("%+v", r)
	}
	data := read(t, filepath.Join(dir, "tuning.json"))
	var doc tune.Result
	if err := json.Unmarshal([]byte(data), &doc); err != nil || doc.Schema != 1 || doc.File != path ||
		len(doc.Trials) == 0 {
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
	write(t, path, "{")
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
	// Before anything is measured.
	failWith(t, dir, variables, 1, "absent/x.json: cannot be written", "tune", "--json", "absent/x.json")
	write(t, filepath.Join(dir, "file"), "")
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
	path := saveSettings(t, tuned.Values{Cutoff: 33})
	before := read(t, path)
	old := time.Now().Add(-time.Hour)
	gemmtest.Must(t, os.Chtimes(filepath.Dir(path), old, old))
	begun := func() bool { // the folder is tried out just before measuring begins
		info, err := os.Stat(filepath.Dir(path))
		return err == nil && time.Since(info.ModTime()) < time.Minute
	}
	r, _ := interrupt(t, "", variables, begun, "tune")
	if !strings.Contains(r.stderr, "interrupted; the settings are what they were") || read(t, path) != before {
		t.Errorf("%q, and the file is %q", r.stderr, read(t, path))
	}
	if left := entries(t, filepath.Dir(path)); len(left) != 1 {
		t.Errorf("the folder has %v", left)
	}
}
