// Command gemm multiplies matrices in every way that this module knows,
// measures and verifies each, and compares them in a report. See gemm --help.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
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
