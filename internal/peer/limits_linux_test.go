package peer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm/gemmtest"
)

// TestLimits has a shell try what each limit forbids. It leaves out what the system does not confine.
func TestLimits(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	gemmtest.Must(t, os.Chmod(dir, 0o777))
	gemmtest.Must(t, os.WriteFile(outside, []byte("secret"), 0o644))
	limits := Limits{Holder: own(t), Folder: dir, Memory: 512 << 20, File: 1 << 20, Processes: 12, Time: time.Second}
	l, err := NewConfined(limits.Holder, &limits)
	gemmtest.Must(t, err)
	defer l.Kill()
	lacks, err := l.Unconfined()
	gemmtest.Must(t, err)
	for _, test := range []struct{ word, script, want string }{
		{"", "echo $HOME $GEMM_TEST_SECRET; pwd", "/tmp\n" + dir},
		{"", "head -c 2000000 /dev/zero >/tmp/large", "File size limit exceeded"},
		{"", "head -c 3000 /dev/zero | wc -c", "3000"},
		{"", "dd if=/dev/zero of=/dev/null bs=600M count=1", "memory exhausted"},
		{"files", "cat " + outside, "No such file"},
		{"files", "touch here", "Read-only file system"},
		{"files", "touch /usr/there /etc/there", "Read-only file system"},
		{"processes", fmt.Sprintf("kill -9 %d", os.Getpid()), "No such process"},
		{"processes", "ls /proc | grep -c '^[0-9]'", "\n"},
		{"network", "tail -n +3 /proc/net/dev | cut -d: -f1", "lo"},
		{"user", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do sleep 2 & done", "Cannot fork"},
	} {
		if slices.Contains(lacks, test.word) {
			t.Logf("the system does not confine %s", test.word)
			continue
		}
		said, err := Compiler{Command: []string{"sh"}, Limits: &limits}.Run(t.Context(), time.Minute, "-c", test.script)
		if !strings.Contains(said+fmt.Sprint(err), test.want) || strings.Contains(said, "eth") {
			t.Errorf("%s: %q, %v; want %q", test.script, said, err, test.want)
		}
	}
}
