package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gemm/internal/ipc"
)

// Messages of mpirun: of Open MPI up to version 4, and since 5, which calls it prterun.
var (
	onSignal = regexp.MustCompile(`process rank (\d+) with PID \d+ on node \S+ exited on signal (\d+)( \([^)]*\))?`)
	process  = regexp.MustCompile(`Process name:\s*\[.*,(\d+)\]`)
	exitCode = regexp.MustCompile(`Exit code:\s*(\d+)`)
	slots    = regexp.MustCompile(`not enough slots available in the system to satisfy the (\d+)`)
)

// Messages of mpiexec.hydra, with the process and not the rank. It writes none if a rank exits with a status.
var (
	badEnd    = regexp.MustCompile(`PID (\d+) RUNNING AT (\S+)`)
	endString = regexp.MustCompile(`EXIT STRING: (.*) \(signal (\d+)\)`)
)

// reason returns in one line why the ranks ended. end is the end of the launcher, and said is its and the ranks'
// output.
func reason(end ipc.ExitError, said *ipc.Tail) error {
	lines, cause := said.Lines()
	all, why := strings.Join(lines, "\n"), message(lines, cause)
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
	end.Reason = last(lines)
	return end
}

// message returns the last message of a rank, after a colon; empty if there is none.
func message(lines []string, cause string) string {
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
