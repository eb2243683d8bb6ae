package gemm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gemm/gemmtest"
)

// TestDeps runs scripts/deps.sh with replacements for the programs that it calls. They log their
// arguments and change nothing on this host.
func TestDeps(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	const (
		root    = "echo 0"
		user    = "echo 1000"
		refuses = "exit 1"
		nothing = "exit 0"
		// aptWorks has every package and, once it has installed, every library.
		aptWorks = `case "$*" in *" install "*) touch "$STATE/installed" ;; esac`
		// aptStale has no package before the lists are read.
		aptStale = `case "$*" in
*" update") touch "$STATE/updated" ;;
"-s install "*) test -e "$STATE/updated" ;;
*" install "*) touch "$STATE/installed" ;;
esac`
		// aptPoor has libopenblas0-pthread only.
		aptPoor = `case "$*" in *libblis4*) exit 100 ;; esac`
		// libraries has ScaLAPACK, and OpenBLAS and BLIS once they are installed.
		libraries = `echo libscalapack-openmpi.so.2.2; test ! -e "$STATE/installed" || echo libopenblas.so.0 libblis.so.4`
	)
	tests := map[string]struct {
		programs map[string]string // stand-ins next to the programs below
		deps     string            // of the environment
		says     []string          // parts of what it prints
		calls    []string          // parts of lines that it must have called
		never    []string          // parts of lines that it must not have called
	}{
		"nothing missing": {
			map[string]string{"ldconfig": "echo libopenblas.so.0 libblis.so.4 libscalapack-openmpi.so.2.2"}, "",
			[]string{"nothing is missing"}, nil, []string{"apt-get"},
		},
		"one missing": {
			map[string]string{"ldconfig": "echo libopenblas.so.0 libscalapack-openmpi.so.2.2", "id": root,
				"apt-get": aptWorks}, "",
			[]string{"libblis4-pthread is missing; it serves reference/blis"},
			[]string{"--no-install-recommends libblis4-pthread"}, []string{"libopenblas0-pthread", "update"},
		},
		"no Open MPI": {
			map[string]string{
				"ldconfig": "echo libopenblas.so.0 libblis.so.4", "pkg-config": refuses, "id": root, "apt-get": aptWorks,
			}, "",
			[]string{"libopenmpi-dev is missing; it serves the family mpi",
				"libscalapack-openmpi2.2 is missing; it serves reference/scalapack"},
			[]string{"install --no-install-recommends libopenmpi-dev libscalapack-openmpi2.2"}, []string{"openmpi-bin"},
		},
		"a GPU and no toolkit": {
			map[string]string{"ldconfig": libraries + "; echo libcuda.so.1", "id": root, "apt-get": aptWorks}, "",
			[]string{"python3-pip is missing; it serves the family cuda"},
			[]string{"install --no-install-recommends libopenblas0-pthread libblis4-pthread python3-pip"}, nil,
		},
		"root": {
			map[string]string{"id": root, "apt-get": aptWorks}, "yes",
			[]string{"libopenblas0-pthread is missing", "installing libopenblas0-pthread libblis4-pthread"},
			[]string{"install --no-install-recommends libopenblas0-pthread libblis4-pthread"},
			[]string{"sudo", "update", "sources", "add-apt", "python3-pip"},
		},
		"lists unread": {
			map[string]string{"id": root, "apt-get": aptStale}, "",
			[]string{"reading the package lists"},
			[]string{"update", "install --no-install-recommends libopenblas0-pthread libblis4-pthread"}, nil,
		},
		"sudo without a password": {
			map[string]string{"id": user, "sudo": `test "$2" = true || { shift; "$@"; }`, "apt-get": aptWorks}, "",
			[]string{"installing"}, []string{"sudo -n env", "apt-get"}, nil,
		},
		"sudo with a password": {
			map[string]string{"id": user, "sudo": refuses, "apt-get": aptWorks}, "",
			[]string{"sudo apt-get install --no-install-recommends libopenblas0-pthread libblis4-pthread", "going on without"},
			nil, []string{"apt-get"},
		},
		"no network": {
			map[string]string{"id": root, "apt-get": refuses}, "",
			[]string{"apt-get update failed", "could not be installed: libopenblas0-pthread libblis4-pthread",
				"going on without"},
			[]string{"update"}, nil,
		},
		"a package that the sources lack": {
			map[string]string{"id": root, "apt-get": aptPoor}, "",
			[]string{"installing libopenblas0-pthread\n"},
			[]string{"install --no-install-recommends libopenblas0-pthread"}, nil,
		},
		"no apt": {
			map[string]string{"id": root}, "",
			[]string{"there is no apt-get", "libopenblas0-pthread libblis4-pthread"}, nil, nil,
		},
		"DEPS=no": {
			map[string]string{"id": root, "apt-get": aptWorks}, "no",
			[]string{"DEPS=no"}, nil, []string{"apt-get", "ldconfig"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			programs := map[string]string{"ldconfig": libraries, "gcc": nothing, "pkg-config": nothing, "mpirun": nothing}
			for program, body := range test.programs {
				programs[program] = body
			}
			for program, body := range programs {
				script := "#!" + bash + "\necho \"" + program + " $*\" >>\"$STATE/calls\"\n" + body + "\n"
				gemmtest.Must(t, os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755))
			}
			for _, tool := range []string{"env", "grep", "cut", "mktemp", "rm", "tail", "timeout", "touch"} {
				target, err := exec.LookPath(tool)
				if err != nil {
					t.Skipf("there is no %s", tool)
				}
				gemmtest.Must(t, os.Symlink(target, filepath.Join(dir, tool)))
			}
			cmd := exec.Command(bash, "scripts/deps.sh")
			cmd.Env = []string{"PATH=" + dir, "STATE=" + dir, "DEPS=" + test.deps, "CUDA_HOME=" + dir}
			output, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("exits with %v; it never fails a build", err)
			}
			for _, want := range test.says {
				if !strings.Contains(string(output), want) {
					t.Errorf("does not say %q", want)
				}
			}
			log, err := os.ReadFile(filepath.Join(dir, "calls"))
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			// Asking what a package is or whether sudo works changes nothing.
			var calls strings.Builder
			for line := range strings.Lines(string(log)) {
				if !strings.HasPrefix(line, "apt-get -s ") && line != "sudo -n true\n" {
					calls.WriteString(line)
				}
			}
			for _, want := range test.calls {
				if !strings.Contains(calls.String(), want) {
					t.Errorf("does not call %q", want)
				}
			}
			for _, never := range test.never {
				if strings.Contains(calls.String(), never) {
					t.Errorf("calls %q", never)
				}
			}
			if t.Failed() {
				t.Logf("printed:\n%scalled:\n%s", output, log)
			}
		})
	}
}
