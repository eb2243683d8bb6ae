// Command gemm-build measures a task of gemm compare, which builds it with other options of the compiler. It has the
// variants on processors alone, so that little is compiled.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"gemm/compare"
	"gemm/internal/output"
	"gemm/internal/settings"
	"gemm/internal/tuned"
	"gemm/parallel"
	"gemm/serial"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	found, _ := settings.Load() // gemm says what is wrong with them
	tuned.Use(found)
	err := compare.Serve(ctx, os.Stdin, os.Stdout, compare.Served{
		Variants: slices.Concat(serial.Variants(), parallel.Variants())})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, output.Line(err.Error()))
		os.Exit(1)
	}
}
