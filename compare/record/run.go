package record

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"gemm/internal/cpu"
)

// RunInfo describes one invocation of the program.
type RunInfo struct {
	ID        string            `json:"id"`
	Host      string            `json:"host"`
	Command   string            `json:"command"`
	Further   []string          `json:"further,omitempty"` // commands that added rows by --resume
	Time      time.Time         `json:"time"`
	Git       string            `json:"git"` // revision the program was built from, "+dirty" if modified
	Go        string            `json:"go"`
	GOAMD64   string            `json:"goamd64"`
	Load      float64           `json:"load,omitempty"` // average over a minute, of processors, when it began
	Flags     string            `json:"flags"`          // build flags that matter: -gcflags, -tags
	Libraries map[string]string `json:"libraries"`      // module versions, and the versions of libraries found at run time
}

// UnknownGit is the revision of a program that was built without one.
const UnknownGit = "unknown"

// NewRun describes this invocation of the program.
func NewRun(command, host string, now time.Time) RunInfo {
	settings := BuildSettings()
	r := RunInfo{Host: host, Command: command, Time: now.UTC().Truncate(time.Second), Load: cpu.Load(),
		Git: cmp.Or(settings["vcs.revision"], UnknownGit), Go: runtime.Version(), GOAMD64: settings["GOAMD64"],
		Libraries: map[string]string{}}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			r.Libraries[m.Path] = m.Version
		}
	}
	if settings["vcs.modified"] == "true" {
		r.Git += "+dirty"
	}
	for _, flag := range []string{"-gcflags", "-tags"} {
		if value, ok := settings[flag]; ok {
			r.Flags = strings.TrimSpace(r.Flags + " " + flag + "=" + value)
		}
	}
	sum := sha256.Sum256(fmt.Append(nil, host, command, now.UnixNano(), r.Git, r.Flags, r.GOAMD64))
	r.ID = fmt.Sprintf("%x", sum[:4])
	return r
}

// BuildSettings returns how this program was built, as far as it is known: its settings by the names of package debug.
func BuildSettings() map[string]string {
	out := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			out[s.Key] = s.Value
		}
	}
	return out
}

// SameProgram reports whether two runs used the same program, so that their rows belong to one run.
func (r RunInfo) SameProgram(s RunInfo) bool {
	return r.Git == s.Git && r.Go == s.Go && r.GOAMD64 == s.GOAMD64 && r.Flags == s.Flags
}

// Commands returns the commands that measured the rows of the run, in their order.
func (r RunInfo) Commands() []string { return append([]string{r.Command}, r.Further...) }

// ContinuedBy returns the run after the command has added rows to it. A command that only resumes an earlier one is
// not noted again.
func (r RunInfo) ContinuedBy(command string) RunInfo {
	bare := func(command string) string { return strings.ReplaceAll(command, " --resume", "") }
	for _, earlier := range r.Commands() {
		if bare(earlier) == bare(command) {
			return r
		}
	}
	r.Further = append(slices.Clone(r.Further), command)
	return r
}
