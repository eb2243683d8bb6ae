//go:build mpi && linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/mpi"
	"gemm/mpi/launch"
)

// faulty is the program, built with faults that the environment variable
// GEMM_TEST_FAULT chooses:
//
//	serve      rank 1 panics in the goroutine that computes
//	elsewhere  rank 1 panics in another goroutine
//	lead       rank 0 panics in the goroutine that leads
var faulty = sync.OnceValues(func() (string, error) {
	dir := filepath.Dir(binary)
	const file, entry = "../../mpi/task.go", "	s.configure()\n	prof := &profile{"
	source, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if strings.Count(string(source), entry) != 1 {
		return "", fmt.Errorf("%s has no single place for faults", file)
	}
	faulty := strings.Replace(string(source), entry, `	switch fault := os.Getenv("GEMM_TEST_FAULT"); {
	case s.job.Rank() == 1 && fault == "serve", s.job.Rank() == 0 && fault == "lead" && s.job.last > 2:
		panic("injected")
	case s.job.Rank() == 1 && fault == "elsewhere":
		go panic("injected")
		select {}
	}
`+entry, 1)
	faulty = strings.Replace(faulty, `"fmt"`, "\"fmt\"\n\t\"os\"", 1)
	copied := filepath.Join(dir, "task.go")
	if err := os.WriteFile(copied, []byte(faulty), 0o644); err != nil {
		return "", err
	}
	original, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: copied}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		return "", err
	}
	return built("faulty", "-tags", "mpi", "-overlay", list)
})

// A session is a command under test and all processes that it starts, which have a variable
// by which they are found.
type session struct {
	t       *testing.T
	dir     string // where it runs, and where its temporary files are
	program string
	mpirun  []string // and its options
	mark    string
	began   time.Time
}

func newSession(t *testing.T) *session {
	t.Helper()
	mpirun, err := launch.Find(t.Context(), mpi.Version())
	gemmtest.Require(t, "mpi", err)
	dir := t.TempDir()
	// Not to be taken for what the machine can: tests share it.
	s := &session{t: t, dir: dir, program: binary, mpirun: []string{mpirun.Path}, mark: "GEMM_TEST_RANKS=" + dir}
	if mpirun.Family == launch.OpenMPI {
		s.mpirun = append(s.mpirun, "--oversubscribe", "--allow-run-as-root")
	}
	t.Cleanup(func() {
		for _, p := range s.processes() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL) // of a test that failed
		}
	})
	return s
}

// withFaults has the session run the program that can fail.
func (s *session) withFaults() *session {
	s.t.Helper()
	program, err := faulty()
	if err != nil {
		s.t.Fatal(err)
	}
	s.program = program
	return s
}

// process is one of a session; rank is -1 of what is no rank.
type process struct {
	pid, rank int
	args      string
}

// processes returns the processes of the session that are alive.
func (s *session) processes() []process {
	var found []process
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		environment, err := os.ReadFile(filepath.Join(entry, "environ"))
		if err != nil || !strings.Contains(string(environment), s.mark) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(entry, "cmdline"))
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil || len(args) == 0 { // it has ended
			continue
		}
		p := process{pid, -1, strings.ReplaceAll(string(args), "\x00", " ")}
		for _, variable := range strings.Split(string(environment), "\x00") {
			for _, name := range []string{"OMPI_COMM_WORLD_RANK=", "PMI_RANK="} {
				if value, ok := strings.CutPrefix(variable, name); ok {
					p.rank, _ = strconv.Atoi(value)
				}
			}
		}
		found = append(found, p)
	}
	return found
}

// start starts the command.
func (s *session) start(variables []string, args ...string) (*exec.Cmd, *strings.Builder, *strings.Builder) {
	s.t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(s.t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.dir, &stdout, &stderr, 10*time.Second
	cmd.Env = append(os.Environ(),
		append([]string{s.mark, "TMPDIR=" + s.dir, "OMPI_MCA_mpi_yield_when_idle=1", "GEMM_MPI_YIELD=yes"},
			variables...)...)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.began = time.Now()
	return cmd, &stdout, &stderr
}

// run runs the command to its end.
func (s *session) run(variables []string, args ...string) result {
	s.t.Helper()
	cmd, stdout, stderr := s.start(variables, args...)
	_ = cmd.Wait() // its status is returned
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// ranks returns the command that starts n ranks, as a user does.
func (s *session) ranks(n int, args ...string) []string {
	return slices.Concat(s.mpirun, []string{"-n", strconv.Itoa(n), s.program, "mpi"}, args)
}

// until waits until it is true.
func (s *session) until(what string, it func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !it(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("timeout: %s", what)
		}
	}
}

// rank returns the process of a rank.
func (s *session) rank(rank int) int {
	s.t.Helper()
	for _, p := range s.processes() {
		if p.rank == rank {
			return p.pid
		}
	}
	s.t.Fatalf("there is no rank %d", rank)
	return 0
}

// signal sends a signal to a rank.
func (s *session) signal(rank int, signal syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.rank(rank), signal); err != nil {
		s.t.Fatal(err)
	}
}

// limit sets a rank's limit of address space to what it uses now plus that many bytes, whatever
// its threads have reserved.
func (s *session) limit(rank int, bytes uint64) {
	s.t.Helper()
	pid := s.rank(rank)
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		s.t.Fatal(err)
	}
	var pages uint64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		s.t.Fatal(err)
	}
	most := pages*uint64(os.Getpagesize()) + bytes
	if err := unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
		s.t.Fatal(err)
	}
}

// live returns the number of ranks.
func (s *session) live() int {
	n := 0
	for _, p := range s.processes() {
		if p.rank >= 0 {
			n++
		}
	}
	return n
}

// measuring waits until ranks that gemm started have begun that many cases.
func (s *session) measuring(least int) {
	s.t.Helper()
	s.until(fmt.Sprintf("case %d is measured", least), func() bool {
		names, _ := filepath.Glob(filepath.Join(s.dir, "gemm-ranks-*", "messages"))
		for _, name := range names {
			data, err := os.ReadFile(name)
			for line := range strings.Lines(string(data)) {
				text, sign := strings.CutPrefix(strings.TrimSpace(line), "now 0 ")
				if now, wrong := strconv.Atoi(text); err == nil && sign && wrong == nil && now >= least {
					return true
				}
			}
		}
		return false
	})
}

// rowsIn waits until the file has that many rows.
func (s *session) rowsIn(name string, rows int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%s has %d rows", name, rows), func() bool {
		doc, err := record.Load(filepath.Join(s.dir, name))
		return err == nil && len(doc.Records) >= rows
	})
}

// requireEnded fails the test unless all processes of the session end soon.
func (s *session) requireEnded() {
	s.t.Helper()
	s.until("nothing is left", func() bool { return len(s.processes()) == 0 })
}

// afterFault is how long after a fault the ranks that it leaves may last: 5 s of grace, 5 s to end, and what a
// busy host takes.
const afterFault = 15 * time.Second

// ends waits for the command, which must end within afterFault with a status other than 0, and
// leave no process.
func (s *session) ends(cmd *exec.Cmd, faultAt time.Time) {
	s.t.Helper()
	s.over(cmd, faultAt)
	if cmd.ProcessState.Success() {
		s.t.Error("its status is 0")
	}
}

// over is ends for a command with any status.
func (s *session) over(cmd *exec.Cmd, faultAt time.Time) {
	s.t.Helper()
	_ = cmd.Wait()
	if took := time.Since(faultAt); took > afterFault {
		s.t.Errorf("it ended %v after the fault", took)
	}
	s.requireEnded()
}

// endless are the arguments of two rows of which the second takes a minute. The first is
// large enough to predict it.
var endless = []string{"--variants", "mpi/summa", "--sizes", "500,2500", "--reps", "60", "--time", "1ms",
	"--json", "r.json"}

// launcherName returns the name of what starts ranks of this build.
func launcherName() string {
	if launch.Of(mpi.Version()).Family == launch.MPICH {
		return "mpiexec.hydra"
	}
	return "mpirun"
}

// TestRanks measures on ranks that a user starts and on ranks that gemm does.
func TestRanks(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	r := s.run(nil, s.ranks(3, "--sizes", "5x70x3", "--type", "f64,gf256", "--time", "1ms", "--json", "r.json")...)
	if r.status != 0 {
		t.Fatalf("status %d, %s", r.status, r.stderr)
	}
	doc := records(t, filepath.Join(s.dir, "r.json"))
	if len(doc.Records) != 2*len(mpi.Variants()) || strings.Count(r.stdout, "VARIANT") != 1 ||
		linesOfTable(r.stdout) != 1+len(doc.Records) {
		t.Errorf("%d rows, and the table\n%s", len(doc.Records), r.stdout)
	}
	for _, want := range []string{"gemm mpi: rank 0: ", "gemm mpi: rank 2: "} {
		if strings.Count(r.stderr, want) != 1 {
			t.Errorf("standard error does not have %q once: %s", want, r.stderr)
		}
	}
	if command := doc.Runs[0].Command; !strings.HasPrefix(command, launcherName()+" -n 3 gemm mpi --sizes") ||
		doc.Hosts[0].MPI == "" {
		t.Errorf("the command is %q, MPI is %q", command, doc.Hosts[0].MPI)
	}
	for _, row := range doc.Records {
		if row.Status != record.OK || row.Params["ranks"] != 3 || len(row.Ranks) != 3 || row.Threads != 3 ||
			row.BytesCounted != row.BytesPredicted || row.Phases == nil {
			t.Errorf("%s %s %s: %s %s, params %v, %d ranks, %d threads, %d bytes of %d", row.Variant, row.Type,
				row.Shape.Label(), row.Status, row.Reason,
				row.Params, len(row.Ranks), row.Threads, row.BytesCounted, row.BytesPredicted)
		}
		if want := fmt.Sprintf("mpi %s %s nn, 3 ranks", row.Type, row.Shape.String()); row.Turn != want {
			t.Errorf("the turn is %q, want %q", row.Turn, want)
		}
	}
	// The same file goes on with other ranks, without mpirun.
	more := []string{s.program, "mpi", "--np", "1,2", "--variants", "mpi/summa,mpi/p2p-rows", "--sizes", "33", "--time",
		"1ms", "--json", "r.json", "--resume"}
	if r := s.run(nil, more...); r.status != 0 {
		t.Fatalf("status %d, %s", r.status, r.stderr)
	}
	after := records(t, filepath.Join(s.dir, "r.json"))
	strong := 0
	for _, row := range after.Records[len(doc.Records):] {
		if row.Status == record.OK && row.Experiment == record.StrongScaling && row.Run != "" && row.Ceiling > 0 {
			strong++
		}
	}
	if strong != 4 || len(after.Records) != len(doc.Records)+4 {
		t.Errorf("%d rows after %d, of which %d are right", len(after.Records), len(doc.Records), strong)
	}
	pings := 0
	for _, m := range after.Measurements {
		if m.Name == "ping-pong" && len(m.Samples) > 0 && m.Unit == "s" {
			pings++
		}
	}
	if pings != 2*(7+2) { // by two launches: sizes of one pair of ranks, and of all pairs
		t.Errorf("%d ping-pongs: %+v", pings, after.Measurements)
	}
	if r := s.run(nil, more...); r.status != 0 || time.Since(s.began) > 2*time.Second {
		t.Errorf("rows that are there took %v: status %d, %s", time.Since(s.began), r.status, r.stderr)
	}
	s.requireEnded()
}

// TestOptionsOfRanks checks that every parameter reaches the ranks.
func TestOptionsOfRanks(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	r := s.run(nil, s.program, "mpi", "--np", "2", "--sizes", "40", "--time", "1ms", "--threads", "2", "--local",
		"serial/naive", "--master", "works", "--panel", "7",
		"--grid", "2x1", "--replication", "1", "--affinity", "none", "--seed", "3", "--json", "-")
	doc := parsed(t, r)
	for _, row := range doc.Records {
		if row.Status != record.OK || row.Threads != 4 {
			t.Errorf("%s: %s %s, %d threads", row.Variant, row.Status, row.Reason, row.Threads)
		}
		for name, value := range row.Params {
			want := row.Resolved[name]
			if name == "local" { // on several threads by way of the family parallel
				want = value
			}
			if value != want {
				t.Errorf("%s: %s is %v, was asked for as %v", row.Variant, name, want, value)
			}
		}
	}
	weak := s.run(nil, s.program, "mpi", "--np", "1,2", "--weak", "--sizes", "20", "--variants", "mpi/summa", "--time",
		"1ms", "--json", "-")
	doc = parsed(t, weak)
	if len(doc.Records) != 2 || doc.Records[1].M != 40 || doc.Records[1].N != 20 ||
		doc.Records[1].Experiment != record.WeakScaling {
		t.Errorf("weak scaling: %s", weak.stdout)
	}
}

// TestRanksWithErrors checks that requests that cannot be fulfilled give one line and the right
// status.
func TestRanksWithErrors(t *testing.T) {
	for _, test := range []struct {
		args   func(s *session) []string
		status int
		want   string // in standard error, once where rank 0 alone can say it
	}{
		{func(s *session) []string { return s.ranks(2, "--sizes", "x") }, 2, `gemm mpi: --sizes "x"`},
		{func(s *session) []string { return s.ranks(2, "--np", "3") }, 2, "gemm mpi: --np 3: mpirun has started 2 ranks"},
		{func(s *session) []string {
			return slices.Concat(s.mpirun, []string{"-n", "2", s.program, "serial", "--sizes", "8"})
		}, 1, "only gemm mpi runs on ranks"},
		{func(s *session) []string {
			return slices.Concat(s.ranks(1, "--sizes", "8"), []string{":", "-n", "1", s.program, "mpi", "--sizes", "9"})
		}, 1, "rank 1 was given other arguments than rank 0"},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			r := s.run(nil, test.args(s)...)
			n := strings.Count(r.stderr, test.want)
			own, _, _ := strings.Cut(r.stdout, "\n====") // mpiexec.hydra may say that ranks ended badly
			if r.status != test.status || n == 0 || test.status == 2 && n != 1 || own != "" {
				t.Errorf("status %d, want %d; it said %s%s", r.status, test.status, r.stdout, r.stderr)
			}
			s.requireEnded()
		})
	}
	s := newSession(t)
	if r := s.run(nil, s.ranks(2, "--help")...); r.status != 0 || strings.Count(r.stdout, "gemm mpi: ") != 1 {
		t.Errorf("--help: status %d, %s", r.status, r.stdout)
	}
	missing := s.run([]string{"PATH=" + t.TempDir()}, s.program, "mpi", "--np", "2", "--sizes", "8")
	if missing.status != 1 || !strings.Contains(missing.stdout, "unavailable") ||
		!strings.Contains(missing.stderr, "there is no "+launcherName()+" on PATH: install ") {
		t.Errorf("without mpirun: status %d, %s%s", missing.status, missing.stdout, missing.stderr)
	}
}

// TestWrongLauncher starts ranks by what belongs to another MPI: they do not see each other, and one of them says
// so.
func TestWrongLauncher(t *testing.T) {
	s := newSession(t)
	other, feature := "MPICH", "mpich"
	if launch.Of(mpi.Version()).Family == launch.MPICH {
		other, feature = "Open MPI", "mpi"
	}
	wrong, err := launch.Find(t.Context(), other)
	gemmtest.Require(t, feature, err)
	args, _ := wrong.Arguments(launch.Resources{Root: os.Geteuid() == 0}, 2, s.program, "mpi", "--sizes", "8")
	r := s.run(nil, append([]string{wrong.Path}, args...)...)
	want := fmt.Sprintf("has started 2 ranks (%s), but this program is built with %s, which sees 1: start it by %s",
		map[string]string{"MPICH": "PMI_SIZE", "Open MPI": "OMPI_COMM_WORLD_SIZE"}[other],
		mpi.Version(), launcherName())
	if r.status != 1 || strings.Count(r.stderr, want) != 1 || r.stdout != "" {
		t.Errorf("status %d; it said %s%s, want %q once", r.status, r.stdout, r.stderr, want)
	}
	s.requireEnded()
}

// TestFaultsUnderMpirun ends ranks that a user has started.
func TestFaultsUnderMpirun(t *testing.T) {
	for _, test := range []struct {
		name     string
		rank     int
		signal   syscall.Signal
		variable string
		want     string // in standard error
	}{
		{"rank 0 killed", 0, syscall.SIGKILL, "", ""},
		{"rank 1 killed", 1, syscall.SIGKILL, "", ""},
		{"panic of what serves", -1, 0, "serve", "gemm mpi: rank 1: panicked: injected"},
		{"panic elsewhere", -1, 0, "elsewhere", "panic: injected"},
		{"panic of what leads", -1, 0, "lead", "gemm mpi: mpi/summa f64 2500 ranks=2: panicked: injected"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t).withFaults()
			cmd, _, stderr := s.start([]string{"GEMM_TEST_FAULT=" + test.variable}, s.ranks(2, endless...)...)
			if test.rank >= 0 {
				s.rowsIn("r.json", 1)
				s.signal(test.rank, test.signal)
				s.ends(cmd, time.Now())
				doc := records(t, filepath.Join(s.dir, "r.json"))
				if len(doc.Records) != 1 || doc.Records[0].Status != record.OK {
					t.Errorf("the rows are %+v", doc.Records)
				}
				return
			}
			s.until("a rank has ended", func() bool { return s.live() == 2 })
			s.until("a rank has ended", func() bool { return s.live() < 2 })
			s.ends(cmd, time.Now())
			if !strings.Contains(stderr.String(), test.want) {
				t.Errorf("standard error lacks %q: %s", test.want, stderr)
			}
		})
	}
}

// TestMemoryOfARank limits the memory of one rank after the first row. Two small rows still fit; the
// one after them does not.
func TestMemoryOfARank(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	cmd, _, stderr := s.start(nil,
		s.ranks(2, "--variants", "mpi/scatter-rows", "--sizes", "300,301,302,3000", "--time", "300ms",
			"--timeout", "1h", "--json", "r.json")...)
	s.rowsIn("r.json", 1)
	s.limit(1, 64<<20)
	s.until("a rank has ended", func() bool { return s.live() < 2 })
	s.ends(cmd, time.Now())
	doc := records(t, filepath.Join(s.dir, "r.json"))
	if len(doc.Records) != 3 {
		t.Errorf("the rows are %+v", doc.Records)
	}
	for _, row := range doc.Records {
		if row.Status != record.OK {
			t.Errorf("%d: %s %q", row.N, row.Status, row.Reason)
		}
	}
	if !strings.Contains(stderr.String(), "out of memory") {
		t.Errorf("standard error is %s", stderr)
	}
}

// TestHungRanks stops ranks that a user has started, and that gemm has.
func TestHungRanks(t *testing.T) {
	t.Run("under mpirun", func(t *testing.T) {
		t.Parallel()
		s := newSession(t)
		const limit = 10 * time.Second // longer than what rank 0 does alone takes on a busy host
		cmd, stdout, stderr := s.start(nil, s.ranks(2, append(slices.Clone(endless), "--timeout", limit.String())...)...)
		s.rowsIn("r.json", 1)
		at := time.Now()
		s.signal(1, syscall.SIGSTOP)
		s.ends(cmd, at.Add(limit))
		doc := records(t, filepath.Join(s.dir, "r.json"))
		if len(doc.Records) != 2 || doc.Records[1].Status != record.Timeout ||
			!strings.Contains(doc.Records[1].Reason.Text, "a rank hangs") {
			t.Errorf("the rows are %+v", doc.Records)
		}
		if !strings.Contains(stdout.String(), "timeout") || strings.Count(stderr.String(), "a rank hangs") != 1 {
			t.Errorf("it said %s%s", stdout, stderr)
		}
	})
	t.Run("rank 1 of gemm", func(t *testing.T) {
		t.Parallel()
		faultOfStarted(t, 1, syscall.SIGSTOP, 3*time.Second, record.Timeout, "a rank hangs: nothing came back")
	})
	// Rank 0 says so itself where it is woken to be ended.
	t.Run("rank 0 of gemm", func(t *testing.T) {
		t.Parallel()
		faultOfStarted(t, 0, syscall.SIGSTOP, 3*time.Second, record.Timeout, "hangs")
	})
}

// TestKilledRank kills a rank that gemm has started.
func TestKilledRank(t *testing.T) {
	t.Parallel()
	faultOfStarted(t, 1, syscall.SIGKILL, 30*time.Second, record.Failed, " was killed by signal 9")
}

// faultOfStarted sends a signal to a rank in the second of four cases. The row of this case must
// have the status and its reason, and come within afterFault of the fault, or of the time limit if a
// rank hangs. The other rows must be there.
func faultOfStarted(t *testing.T, rank int, signal syscall.Signal, limit time.Duration, status record.Status,
	want string) {
	t.Helper()
	s := newSession(t)
	cmd, _, stderr := s.start(nil, s.program, "mpi", "--np", "2", "--variants", "mpi/summa", "--sizes", "800,801",
		"--type", "f32,f64", "--reps", "20", "--time", "1ms",
		"--timeout", limit.String(), "--json", "r.json")
	s.measuring(1)
	s.signal(rank, signal)
	at := time.Now()
	s.rowsIn("r.json", 2)
	most := afterFault
	if status == record.Timeout {
		most += limit
	}
	if took := time.Since(at); took > most {
		t.Errorf("the row came %v after the fault", took)
	}
	_ = cmd.Wait() // its status is looked at below
	rows := records(t, filepath.Join(s.dir, "r.json")).Records
	if len(rows) != 4 {
		t.Fatalf("%d rows, %s", len(rows), stderr)
	}
	for i, row := range rows {
		if i != 1 && row.Status != record.OK || i == 1 && (row.Status != status || !strings.Contains(row.Reason.Text, want)) {
			t.Errorf("%s %d: %s %q", row.Type, row.N, row.Status, row.Reason)
		}
	}
	if got := cmd.ProcessState.ExitCode(); got != statusFailed || status == record.Timeout &&
		!strings.Contains(stderr.String(), "the ranks hung in mpi/summa f64 800") {
		t.Errorf("status %d, %s", got, stderr)
	}
	s.requireEnded()
}

// TestInterruptedRanks interrupts the driver, and mpirun.
func TestInterruptedRanks(t *testing.T) {
	for name, args := range map[string]func(s *session) []string{
		"gemm":   func(s *session) []string { return append([]string{s.program, "mpi", "--np", "2"}, endless...) },
		"mpirun": func(s *session) []string { return s.ranks(2, endless...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			cmd, stdout, stderr := s.start(nil, args(s)...)
			s.rowsIn("r.json", 1)
			gemmtest.Must(t, cmd.Process.Signal(syscall.SIGINT))
			s.over(cmd, time.Now())
			doc := records(t, filepath.Join(s.dir, "r.json"))
			if len(doc.Records) != 1 {
				t.Errorf("%d rows, %s%s", len(doc.Records), stdout, stderr)
			}
			status := cmd.ProcessState.ExitCode()
			switch {
			case name == "mpirun" && launcherName() == "mpirun":
				if status == 0 {
					t.Error("its status is 0")
				}
				return // it gives its ranks a second, in which rank 0 may say the same
			case name == "mpirun" && status == 0:
				status = statusInterrupted // mpiexec.hydra sometimes loses the status of its ranks
			}
			if !strings.Contains(stdout.String(), "mpi/summa") ||
				!strings.Contains(stderr.String(), "1 of 2 rows are in r.json: go on with ") ||
				status != statusInterrupted {
				t.Errorf("status %d, %s%s", status, stdout, stderr)
			}
		})
	}
}

// TestListAndInfoOfRanks checks that list and info show what is available.
func TestListAndInfoOfRanks(t *testing.T) {
	s := newSession(t)
	l, err := launch.Find(t.Context(), mpi.Version())
	gemmtest.Must(t, err)
	want := fmt.Sprintf("%s; %s: %s", mpi.Version(), filepath.Base(l.Path), l.Name)
	if r := s.run(nil, s.program, "info"); r.status != 0 || !strings.Contains(r.stdout, want) {
		t.Errorf("info lacks %q: %s", want, r.stdout)
	}
	available := func(variables ...string) (yes int) {
		var doc listing
		r := s.run(variables, s.program, "list", "--json", "-")
		decode(t, r.stdout, &doc)
		for _, v := range doc.Variants {
			if strings.HasPrefix(v.Name, "mpi/") && v.Available {
				yes++
			}
		}
		return yes
	}
	if n := available(); n != len(mpi.Variants()) {
		t.Errorf("%d variants on ranks are available", n)
	}
	if n := available("PATH=" + t.TempDir()); n != 0 {
		t.Errorf("%d variants on ranks are available without mpirun", n)
	}
}

// TestPeersOfRanks measures libraries and programs of others next to ranks, whoever started these.
func TestPeersOfRanks(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	args := []string{"--variants", "mpi/summa,reference/scalapack,reference/python", "--block", "8,16", "--sizes", "20",
		"--time", "1ms", "--json", "-"}
	for _, line := range [][]string{s.ranks(2, args...), append([]string{s.program, "mpi", "--np", "2"}, args...)} {
		r := s.run(nil, line...)
		doc := parsed(t, r)
		var rows []string
		for _, row := range doc.Records {
			rows = append(rows, strings.TrimSpace(row.Variant+" "+row.Params.String()))
			if row.Status != record.OK && row.Status != record.Unavailable {
				t.Errorf("%v: %s %s %s", line, row.Variant, row.Status, row.Reason)
			}
		}
		slices.Sort(rows)
		if want := []string{"mpi/summa ranks=2", "reference/python", "reference/scalapack block=16 ranks=2",
			"reference/scalapack block=8 ranks=2"}; !slices.Equal(rows, want) {
			t.Errorf("%v: the rows are %q, want %q", line, rows, want)
		}
	}
}
