// Command gemm multiplies matrices in every way that this module knows, measures and verifies each, and compares them
// in a report. See gemm --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"gemm/cmd/catalog"
	"gemm/internal/output"
)

func main() {
	ctx := interruptible()
	err := runGemm(ctx, os.Args, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, oneLine(err))
	}
	os.Exit(exitStatus(ctx, err))
}

// interruptible returns a context that ends at Ctrl-C, at SIGTERM and, unless the program was started to ignore it, as
// nohup does, at SIGHUP. A second Ctrl-C or SIGTERM ends the program at once. A second SIGHUP does not: where a
// terminal is closed, the shell and the system send one each.
func interruptible() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		var cause error // context.Canceled
		if <-signals == syscall.SIGHUP {
			cause = errHangup
		}
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		cancel(cause)
	}()
	return ctx
}

// The exit statuses besides 0.
const (
	statusFailed      = 1   // something was wrong or failed
	statusUsage       = 2   // the command line is invalid
	statusHangup      = 129 // SIGHUP: the terminal was closed
	statusInterrupted = 130 // by Ctrl-C or SIGTERM
)

var errInterrupted = errors.New("interrupted")

// errHangup is the cause of a context that SIGHUP has ended.
var errHangup = fmt.Errorf("hangup: %w", context.Canceled)

type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...)}
}

// exitStatus returns the exit status for what run returned, whose context was ctx.
func exitStatus(ctx context.Context, err error) int {
	s := status(err)
	if s == statusInterrupted && errors.Is(context.Cause(ctx), errHangup) {
		return statusHangup
	}
	return s
}

// status returns the exit status for what run returned, but for SIGHUP.
func status(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled):
		return statusInterrupted
	case errors.As(err, &usage):
		return statusUsage
	default:
		return statusFailed
	}
}

// oneLine returns the lines of an error's text as one, without the name of the package in the middle.
func oneLine(err error) string { return strings.ReplaceAll(output.Line(err.Error()), ": gemm: ", ": ") }

// unknown returns a usageError for a word that is not among the known ones; it names those nearest to it.
func unknown(what, word string, known []string) error {
	return usagef("%s %q is unknown; the nearest are %s", what, word, strings.Join(catalog.Nearest(word, known), ", "))
}
