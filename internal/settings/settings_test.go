package settings

import (
	"encoding/json"
	"errors"
	"math/bits"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"gemm/gemmtest"
	"gemm/internal/tuned"
)

var epyc = tuned.Host{CPU: "AMD EPYC",
	Caches: []tuned.Cache{{Level: 1, Bytes: 32 << 10}, {Level: 2, Bytes: 1 << 20}, {Level: 3, Bytes: 32 << 20}}}

// sample returns settings of host with two kernels.
func sample(host tuned.Host) tuned.Settings {
	when := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	return tuned.Settings{Schema: Schema, Host: host, Tuned: []tuned.Tune{
		{Type: "f32", Kernel: "avx512-32x12", Values: tuned.Values{MC: 320, KC: 384, NC: 4096, Cutoff: 1536},
			Time: when, Cores: 2},
		{Type: "f64", Kernel: "avx512-16x14",
			Values: tuned.Values{MC: 160, KC: 320, NC: 2048, Direct: 4096, Parallel: 110592, Cutoff: 1024}, Time: when,
			Revision: "abc", Go: "go1.26", OS: "Linux", Cores: 2},
	}, Kernels: []tuned.Kernel{
		{GPU: "NVIDIA H200", Type: "f32", Rung: "warptile", Class: "large", Tile: "128x128x8/32x64/8x8", Stages: 4, Split: 1,
			Time: when, Revision: "abc"},
		{GPU: "NVIDIA H200", Type: "f64", Rung: "smem", Class: "small", Tile: "64x64x16/4x4", Time: when},
		{GPU: "NVIDIA H200", Type: "gf256", Rung: "tiled", Class: "small", Tile: "16x16x16", Time: when},
	}}
}

// configured points the user's folder for configuration to an empty one, on every
// system.
func configured(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, dir)
	}
	return dir
}

func TestSaveAndRead(t *testing.T) {
	dir := configured(t)
	if s, err := Read(); err != nil || len(s.Tuned) != 0 {
		t.Errorf("without a file: %v, %v", s, err)
	}
	want := sample(thisHost())
	path, err := Save(want)
	gemmtest.Must(t, err)
	if named, err := Path(); err != nil || named != path || !strings.HasPrefix(path, dir) {
		t.Errorf("saved as %s, Path is %s, %v", path, named, err)
	}
	got, err := Read()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("saved %+v, read %+v, %v", want, got, err)
	}
	// The new setting replaces the old one, and no other is added.
	want.Tuned[0].Cutoff = 2048
	if _, err := Save(want); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(); err != nil || got.Tuned[0].Cutoff != 2048 {
		t.Errorf("saved again: %+v, %v", got, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v, %v", left, err)
	}
	// What is refused when it is read is not written either.
	want.Tuned[0].KC = -1
	if _, err := Save(want); err == nil {
		t.Error("kc = -1 was saved")
	}
	if got, err := Read(); err != nil || got.Tuned[0].KC != 384 {
		t.Errorf("after a refusal: %+v, %v", got, err)
	}
	want.Tuned[0].KC, want.Kernels[0].Tile = 384, "128"
	if _, err := Save(want); err == nil {
		t.Error("the tile 128 was saved")
	}
}

func TestParse(t *testing.T) {
	good, err := json.Marshal(sample(epyc))
	gemmtest.Must(t, err)
	if s, err := parse(good, epyc); err != nil || !reflect.DeepEqual(s, sample(epyc)) {
		t.Fatalf("%+v, %v", s, err)
	}
	text := string(good)
	const impossible = "it has impossible settings of f64"
	for name, c := range map[string]struct{ data, want string }{
		"empty":         {"", "cut off or corrupt"},
		"truncated":     {text[:len(text)/2], "cut off or corrupt"},
		"corrupt":       {strings.Replace(text, ":", ";", 3), "cut off or corrupt"},
		"no object":     {"[1]", "cut off or corrupt"},
		"a text for kc": {strings.Replace(text, `"kc":320`, `"kc":"320"`, 1), "cut off or corrupt"},
		"a fraction":    {strings.Replace(text, `"kc":320`, `"kc":320.5`, 1), "cut off or corrupt"},
		"more behind":   {text + "{}", "cut off or corrupt"},
		"newer":         {strings.Replace(text, `"schema":1`, `"schema":2`, 1), "its schema is 2, this program reads 1"},
		"no schema":     {"{}", "its schema is 0"},
		"other model": {strings.Replace(text, "AMD EPYC", "Xeon", 1),
			"it is of another host: Xeon with 32K, 1M, 32M of cache, here it is AMD EPYC"},
		"other caches": {strings.Replace(text, "1048576", "2097152", 1), "with 32K, 2M, 32M of cache, here"},
		"type":         {strings.Replace(text, `"f64"`, `"f16"`, 1), `settings of f16 by "avx512-16x14"`},
		"kernel":       {strings.Replace(text, `"avx512-16x14"`, `""`, 1), `settings of f64 by ""`},
		"twice": {strings.NewReplacer(`"f64"`, `"f32"`, "avx512-16x14", "avx512-32x12").Replace(text),
			"or has them twice"},
		"negative": {strings.Replace(text, `"mc":160`, `"mc":-8`, 1), "{MC:-8 KC:320"},
		"large mc": {strings.Replace(text, `"mc":160`, `"mc":65537`, 1), impossible},
		"large kc": {strings.Replace(text, `"kc":320`, `"kc":4097`, 1), impossible},
		"large nc": {strings.Replace(text, `"nc":2048`, `"nc":1000000000`, 1), impossible},
		"large block": {strings.NewReplacer(`"mc":160`, `"mc":65536`, `"kc":320`, `"kc":4096`).Replace(text),
			impossible},
		"large direct":   {strings.Replace(text, `"direct":4096`, `"direct":1000000000`, 1), impossible},
		"large parallel": {strings.Replace(text, `"parallel":110592`, `"parallel":1000000000000000000`, 1), impossible},
		"small cutoff":   {strings.Replace(text, `"cutoff":1024`, `"cutoff":1`, 1), impossible},
		"large cutoff":   {strings.Replace(text, `"cutoff":1024`, `"cutoff":9000000`, 1), impossible},
		"partial blocks": {strings.Replace(text, `"kc":320`, `"kc":0`, 1), impossible},
		"GPU":            {strings.Replace(text, "NVIDIA H200", "", 1), `"warptile" in f32 on ""`},
		"rung":           {strings.Replace(text, "warptile", "", 1), `of "" in f32`},
		"class":          {strings.Replace(text, `"large"`, `""`, 1), `the class ""`},
		"no tile":        {strings.Replace(text, "128x128x8/32x64/8x8", "128", 1), `tile "128",`},
		"large tile":     {strings.Replace(text, "128x128x8/32x64/8x8", "128x12345", 1), `tile "128x12345"`},
		"an option":      {strings.Replace(text, "128x128x8/32x64/8x8", "128x128 -DBK=8", 1), `tile "128x128 -DBK=8"`},
		"stages":         {strings.Replace(text, `"stages":4`, `"stages":17`, 1), "stages 17"},
		"split":          {strings.Replace(text, `"split":1`, `"split":-1`, 1), "split -1"},
		"kernel's type":  {strings.Replace(text, `"type":"f32","rung"`, `"type":"tf32","rung"`, 1), "in tf32"},
		"kernel twice": {strings.NewReplacer(`"type":"f64","rung":"smem","class":"small"`,
			`"type":"f32","rung":"warptile","class":"large"`).Replace(text), "or has it twice"},
	} {
		if bits.UintSize == 32 && name == "large parallel" {
			c.want = "cut off or corrupt" // no int is too large
		}
		if c.data == text {
			t.Errorf("%s: the fault was not planted", name)
		}
		s, err := parse([]byte(c.data), epyc)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if len(s.Tuned) != 0 {
			t.Errorf("%s: settings %+v", name, s)
		}
	}
}

// A file that cannot be used is one line that names it and the remedy, and no
// settings.
func TestUnusableFile(t *testing.T) {
	configured(t)
	path, err := Save(sample(thisHost()))
	gemmtest.Must(t, err)
	check := func(what string) {
		t.Helper()
		s, err := Read()
		if err == nil || len(s.Tuned) != 0 || !strings.HasPrefix(err.Error(), path+" is ignored: ") ||
			!strings.Contains(err.Error(), "gemm tune") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v", what, s, err)
		}
	}
	gemmtest.Must(t, os.Truncate(path, 100))
	check("truncated")
	gemmtest.Must(t, os.Remove(path))
	gemmtest.Must(t, os.Mkdir(path, 0o755))
	check("a folder")
	if err := Writable(); err == nil || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Writable with a folder in its place: %v", err)
	}
}

// TestWritableByOthers reads settings that another user can have written.
func TestWritableByOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes here")
	}
	configured(t)
	path, err := Save(sample(thisHost()))
	gemmtest.Must(t, err)
	refused := func(what string) {
		t.Helper()
		if s, err := Read(); err == nil || len(s.Tuned) != 0 ||
			!strings.HasPrefix(err.Error(), path+" is ignored: not trusted: other users can write ") {
			t.Errorf("%s: %+v, %v", what, s, err)
		}
	}
	// A link to a file of the user's own is as good as the file.
	elsewhere := filepath.Join(t.TempDir(), "settings.json")
	gemmtest.Must(t, errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)))
	if s, err := Read(); err != nil || len(s.Tuned) == 0 {
		t.Errorf("through a link: %+v, %v", s, err)
	}
	gemmtest.Must(t, os.Chmod(elsewhere, 0o666))
	refused("a file that all can write")
	gemmtest.Must(t, errors.Join(os.Chmod(elsewhere, 0o644), os.Chmod(filepath.Dir(path), 0o777)))
	refused("a folder that all can write")
	if err := Writable(); err == nil || !strings.Contains(err.Error(), "other users can write the folder ") {
		t.Errorf("Writable of such a folder: %v", err)
	}
}

func TestWritable(t *testing.T) {
	dir := configured(t)
	gemmtest.Must(t, Writable())
	path, err := Path()
	gemmtest.Must(t, err)
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("Writable left %v, %v", left, err)
	}
	file := filepath.Join(dir, "file")
	gemmtest.Must(t, os.WriteFile(file, nil, 0o644))
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, file)
	}
	if err := Writable(); err == nil || !strings.Contains(err.Error(), file) ||
		!strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("below a file: %v", err)
	}
	if _, err := Save(sample(thisHost())); err == nil {
		t.Error("saved below a file")
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, "")
	}
	if err := Writable(); err == nil || !strings.Contains(err.Error(), "no folder for the settings") {
		t.Errorf("without a home: %v", err)
	}
	if s, err := Read(); err != nil || len(s.Tuned) != 0 {
		t.Errorf("without a home: %+v, %v", s, err)
	}
}

// TestSaveInPlace replaces settings that are private and that a link names.
func TestSaveInPlace(t *testing.T) {
	configured(t)
	path, err := Save(tuned.Settings{})
	gemmtest.Must(t, err)
	target := filepath.Join(t.TempDir(), "settings")
	gemmtest.Must(t, errors.Join(os.Rename(path, target), os.Chmod(target, 0o600), os.Symlink(target, path)))
	gemmtest.Must(t, os.WriteFile(target, nil, 0o600))
	if _, err := Save(tuned.Settings{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(target)
	if err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("the target of the link is %v, %v", info, err)
	}
	if to, err := os.Readlink(path); err != nil || to != target {
		t.Errorf("the link was replaced: %q, %v", to, err)
	}
}

func TestEnabled(t *testing.T) {
	for value, want := range map[string]bool{"": true, "on": true, "off": false} {
		if got, err := enabled(value); err != nil || got != want {
			t.Errorf("%s=%q: %v, %v, want %v", Variable, value, got, err, want)
		}
	}
	if on, err := enabled("yes"); on || err == nil || !strings.Contains(err.Error(), `GEMM_TUNED="yes"`) {
		t.Errorf("GEMM_TUNED=yes: %v, %v", on, err)
	}
}

func TestFileName(t *testing.T) {
	for _, c := range []struct {
		host tuned.Host
		want string
	}{
		{epyc, "amd-epyc-32k-1m-32m.json"},
		{tuned.Host{CPU: "Intel(R) Xeon(R) Platinum 8480+"}, "intel-r-xeon-r-platinum-8480.json"},
		{tuned.Host{CPU: "../../etc/passwd"}, "etc-passwd.json"},
		{tuned.Host{CPU: strings.Repeat("x", 300), Caches: []tuned.Cache{{Level: 1, Bytes: 48 << 10}}},
			strings.Repeat("x", maxName) + "-48k.json"},
	} {
		if got := fileOf(c.host); got != c.want {
			t.Errorf("%s: %s, want %s", c.host, got, c.want)
		}
	}
}
