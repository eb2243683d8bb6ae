package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gemm/internal/child"
)

// What mpirun says: Open MPI up to version 4, and since 5, which calls it prterun.
var (
	onSignal = regexp.MustCompile(`process rank (\d+) with PID \d+ on node \S+ exited on signal (\d+)( \([^)]*\))?`)
	process  = regexp.MustCompile(`Process name:\s*\[.*,(\d+)\]`)
	exitCode = regexp.MustCompile(`Exit code:\s*(\d+)`)
	slots    = regexp.MustCompile(`not enough slots available in the system to satisfy the (\d+)`)
)

// What mpiexec.hydra says: the process and not the rank; of what exits with a status, nothing.
var (
	badEnd    = regexp.MustCompile(`PID (\d+) RUNNING AT (\S+)`)
	endString = regexp.MustCompile(`EXIT STRING: (.*) \(signal (\d+)\)`)
)

// reason returns in one line why the ranks ended. end is the end of the launcher, and said what it and the ranks wrote.
func reason(end child.End, said *child.Tail) error {
	lines, cause := said.Lines()
	all, why := strings.Join(lines, "\n"), why(lines, cause)
	if m := slots.FindStringSubmatch(all); m != nil {
		return fmt.Errorf("mpirun has too few slots for %s ranks: ask for fewer, or start "+
			"mpirun --oversubscribe -n %s gemm mpi yourself", m[1], m[1])
	}
	if m := onSignal.FindStringSubmatch(all); m != nil {
		return fmt.Errorf("rank %s was killed by signal %s%s%s", m[1], m[2], m[3], why)
	}
	rank, code := process.FindStringSubmatch(all), exitCode.FindStringSubmatch(all)
	if rank != nil && code != nil {
		return fmt.Errorf("rank %s exited with status %s%s", rank[1], code[1], why)
	}
	if process, end := badEnd.FindStringSubmatch(all), endString.FindStringSubmatch(all); process != nil && end != nil {
		return fmt.Errorf("a rank, process %s on %s, was killed by signal %s (%s)%s", process[1], process[2], end[2],
			end[1], why)
	}
	if why != "" {
		return fmt.Errorf("a rank ended %s with %s%s", end.Name, end.Status, why)
	}
	end.Said = last(lines)
	return end
}

// why returns what a rank said of its end, after a colon; empty if none did.
func why(lines []string, cause string) string {
	for _, line := range slices.Backward(lines) {
		if cause == "" && strings.HasPrefix(line, "gemm") {
			cause = line
		}
	}
	return strings.TrimSuffix(": "+cause, ": ")
}

// last returns the last paragraph of mpirun's, in one line.
func last(lines []string) string {
	var paragraph []string
	for _, line := range slices.Backward(lines) {
		if strings.Trim(line, "-=") != "" {
			paragraph = append(paragraph, line)
		} else if len(paragraph) > 0 {
			break
		}
	}
	slices.Reverse(paragraph)
	text, most := strings.Join(paragraph, " "), 1<<10
	return text[:min(len(text), most)]
}
