//go:build !linux

package reference

import (
	"context"
	"errors"
	"io"
	"runtime"
)

// errNoProcess: a process that is stopped is told of the end of the one that started
// it on Linux only.
var errNoProcess = errors.New("libraries have processes of their own on Linux only, not on " + runtime.GOOS)

func program() (string, error) { return "", errNoProcess }

// process is a process that holds a library: there is none.
type process struct{ here }

func newProcess(string, bool) (*process, error) { return nil, errNoProcess }

func newOpenMPProcess() (*process, error) { return nil, errNoProcess }

func (*process) dead() bool { return true }

func (*process) kill() {}

func (*process) ask(context.Context, string, func(io.Writer) error, func(io.Reader) error) (string, error) {
	return "", errNoProcess
}
