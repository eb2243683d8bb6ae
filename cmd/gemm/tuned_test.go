package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/kernel"
	"gemm/internal/settings"
	"gemm/internal/tuned"
)

// tunedHost has the program under test keep its settings in an empty folder, and
// returns the variables of its environment that say so.
func tunedHost(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	variables := []string{settings.Variable + "=on"}
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, dir) // of this test, for settings.Path
		variables = append(variables, name+"="+dir)
	}
	return variables
}

// saveSettings saves settings for the kernels of this host and returns their file.
func saveSettings(t *testing.T, v tuned.Values) string {
	t.Helper()
	s := tuned.Settings{}
	for typ, name := range map[string]string{"f64": kernel.Best[float64]().Name, "f32": kernel.Best[float32]().Name} {
		s = s.With(tuned.Tune{Type: typ, Kernel: name, Values: v, Time: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)})
	}
	path, err := settings.Save(s)
	gemmtest.Must(t, err)
	return path
}

// strassenCutoff runs gemm serial and returns the cut-off that Strassen's algorithm
// had, and standard error.
func strassenCutoff(t *testing.T, variables []string, args ...string) (any, string) {
	t.Helper()
	r := start(t, "", variables,
		append([]string{"serial", "--variants", "serial/strassen", "--sizes", "70", "--time", "1ms", "--json",
			"-"}, args...)...)
	doc, err := record.Parse([]byte(r.stdout))
	if err != nil || r.status != 0 || len(doc.Records) != 1 || doc.Records[0].Status != record.OK {
		t.Fatalf("status %d, %v, %s", r.status, err, r.stderr)
	}
	return doc.Records[0].Resolved["cutoff"], r.stderr
}

func TestTunedSettingsAreUsed(t *testing.T) {
	variables := tunedHost(t)
	if r := start(t, "", variables, "info"); r.status != 0 || r.stderr != "" ||
		strings.Count(r.stdout, "computed from the caches") != 2 {
		t.Errorf("without settings: %+v", r)
	}
	values := tuned.Values{MC: 48, KC: 40, NC: 96, Direct: 1000, Parallel: 8000, Cutoff: 33}
	path := saveSettings(t, values)
	if got, stderr := strassenCutoff(t, variables); got != 33 || stderr != "" {
		t.Errorf("tuned: a cutoff of %v, %q", got, stderr)
	}
	if got, stderr := strassenCutoff(t, variables, "--no-tuned"); got == 33 || stderr != "" {
		t.Errorf("--no-tuned: a cutoff of %v, %q", got, stderr)
	}

	text := start(t, "", variables, "info").stdout
	if want := "cutoff=33, tuned on 2026-01-02: " + path; strings.Count(text, want) != 2 {
		t.Errorf("info does not say %q twice:\n%s", want, text)
	}
	var doc information
	if err := json.Unmarshal([]byte(start(t, "", variables, "info", "--json", "-").stdout), &doc); err != nil ||
		len(doc.Kernels) != 2 || doc.Field.Kernel == "" {
		t.Fatalf("%v, %+v, %+v", err, doc.Kernels, doc.Field)
	}
	for _, e := range doc.Kernels {
		if e.Tuned == nil || e.Tuned.Values != values || e.InUse != values || e.File != path {
			t.Errorf("info --json: %+v", e)
		}
	}
	off := start(t, "", append(variables, settings.Variable+"=off"), "info").stdout
	if strings.Contains(off, path) || strings.Count(off, "computed from the caches") != 2 {
		t.Errorf("info with %s=off:\n%s", settings.Variable, off)
	}
}

// Settings that cannot be used are one warning, and nothing fails for them.
func TestUnusableSettings(t *testing.T) {
	variables := tunedHost(t)
	untuned, _ := strassenCutoff(t, variables, "--no-tuned")
	path := saveSettings(t, tuned.Values{Cutoff: 33})
	good := read(t, path)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.csv"), "1,2\n3,4\n")
	write := func(data string) {
		t.Helper()
		write(t, path, data)
	}
	ignored := path + " is ignored: "
	for name, data := range map[string]string{
		"newer":  strings.Replace(good, `"schema": 1`, `"schema": 2`, 1),
		"absurd": strings.Replace(good, `"cutoff": 33`, `"cutoff": 1`, 1),
	} {
		write(data)
		r := start(t, "", variables, "info")
		if r.status != 0 || !strings.HasPrefix(r.stderr, "gemm info: "+ignored) || !strings.Contains(r.stderr, "gemm tune") ||
			strings.Count(r.stdout, "computed from the caches") != 2 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	write(string(good[:len(good)/2]))
	got, stderr := strassenCutoff(t, variables)
	if got != untuned || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "gemm serial: "+ignored) {
		t.Errorf("truncated: a cutoff of %v, want %v; %q", got, untuned, stderr)
	}
	for _, args := range [][]string{
		{"multiply", "--a", "a.csv", "--b", "a.csv", "--out", "c.csv"},
		{"compare", "--variants", "serial/ikj", "--sizes", "8", "--type", "gf256", "--force", "--out", "d"},
	} {
		if r := start(t, dir, variables, args...); r.status != 0 || strings.Count(r.stderr, ignored) != 1 {
			t.Errorf("gemm %v: status %d, %q", args, r.status, r.stderr)
		}
		if r := start(t, dir, variables, append(args, "--no-tuned")...); r.status != 0 || strings.Contains(r.stderr, path) {
			t.Errorf("gemm %v --no-tuned: status %d, %q", args, r.status, r.stderr)
		}
	}
	if r := start(t, "", append(variables, settings.Variable+"=perhaps"), "info"); r.status != 0 ||
		!strings.Contains(r.stderr, `GEMM_TUNED="perhaps": must be on or off`) {
		t.Errorf("GEMM_TUNED=perhaps: %d, %q", r.status, r.stderr)
	}
}
