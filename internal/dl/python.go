package dl

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gemm/internal/ipc"
)

// candidates returns the names to try in their order: files in the folder of make peers, files in the
// Python environment in use, the names for the system's loader, and files that pip installed for
// python3. python3 is started only if the names before it are used up.
func candidates(s Search) iter.Seq[string] {
	return func(yield func(string) bool) {
		groups := []func() []string{
			func() []string { return below(fetched(), s.Pip) },
			func() []string { return below(environment(), s.Pip) },
			func() []string { return expand(s.Names) },
			func() []string { return below(installed(), s.Pip) },
		}
		if s.Pip == nil {
			groups = groups[2:3]
		}
		seen := map[string]bool{}
		for _, group := range groups {
			for _, name := range group() {
				if !seen[name] && !yield(name) {
					return
				}
				seen[name] = true
			}
		}
	}
}

// fetched returns the folder of make peers: peers, next to this program.
func fetched() []string {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return nil
	}
	return []string{filepath.Join(filepath.Dir(program), "peers")}
}

// environment returns the folders of the Python environment in use.
func environment() []string {
	var folders []string
	for _, variable := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if prefix := os.Getenv(variable); prefix != "" {
			packages, _ := filepath.Glob(filepath.Join(literal(prefix), "lib", "python3*", "site-packages"))
			folders = append(append(folders, prefix), packages...)
		}
	}
	return folders
}

// pythonTime is the time in which python3 must say where its packages are.
const pythonTime = 5 * time.Second

// installed returns the folders into which pip installs for the python3 on PATH. It asks python3 once.
var installed = sync.OnceValue(func() []string { return foldersOf("python3") })

// foldersOf returns the folders into which pip installs for the Python: none if it does not start or does not answer.
func foldersOf(python string) []string {
	const program = "import sys; sys.path[:] = filter(None, sys.path)\n" + // without the current folder, which -c adds
		"import json, site; print(json.dumps([sys.prefix, site.getuserbase(), *sys.path]))"
	ctx, cancel := context.WithTimeout(context.Background(), pythonTime)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, python, "-c", program)
	cmd.Stdout = &said
	if err := ipc.Run(cmd, time.Second); err != nil {
		return nil
	}
	var folders []string
	if err := json.Unmarshal(said.Bytes(), &folders); err != nil {
		return nil
	}
	return slices.DeleteFunc(folders, func(folder string) bool { return !filepath.IsAbs(folder) })
}

// below returns the files below the folders that match the patterns: folder by folder.
func below(folders, patterns []string) []string {
	var files []string
	for _, folder := range folders {
		for _, pattern := range patterns {
			files = append(files, expand([]string{filepath.Join(literal(folder), pattern)})...)
		}
	}
	return files
}

// literal returns a pattern that matches only the path.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
