package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare"
	"gemm/cuda"
	"gemm/cuda/remote"
)

// workerKey is the key of the worker in the context of the command.
type workerKey struct{}

// withWorkerOf returns a context in which system asks the worker only once.
func withWorkerOf(ctx context.Context) context.Context {
	return context.WithValue(ctx, workerKey{}, &remote.Worker{})
}

// workerOf returns the worker of the command, a new one outside of a command.
func workerOf(ctx context.Context) *remote.Worker {
	if w, ok := ctx.Value(workerKey{}).(*remote.Worker); ok {
		return w
	}
	return &remote.Worker{}
}

// system returns what the worker finds on this host. The error wraps gemm.ErrUnavailable if there
// is no worker, no driver or no GPU. It is errInterrupted if the context ends first.
func system(ctx context.Context) (cuda.System, error) {
	s, err := workerOf(ctx).System(ctx)
	if errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	return s, err
}

// onGPU returns the error of finding what v needs: a GPU that is new enough, and the
// compiler or the library.
func onGPU(ctx context.Context, v gemm.Variant) error {
	s, err := system(ctx)
	if err != nil {
		return err
	}
	return remote.Check(s, v)
}

// checkDevices returns an error if --device asks for a GPU that is not there; where there
// is none at all, the rows say so.
func checkDevices(c *cli.Context, cases []compare.Case) error {
	if !c.IsSet("device") {
		return nil
	}
	for _, k := range cases {
		n, ok := k.Params["device"].(int)
		if !ok {
			continue
		}
		s, err := system(c.Context)
		if errors.Is(err, errInterrupted) {
			return err
		}
		if err != nil {
			return nil
		}
		if !slices.ContainsFunc(s.GPUs, func(g cuda.GPU) bool { return g.Index == n }) {
			var names []string
			for _, g := range s.GPUs {
				names = append(names, fmt.Sprintf("%d (%s)", g.Index, g.Name))
			}
			there := "are"
			if len(names) == 1 {
				there = "is"
			}
			return gemm.Unavailablef("--device %d: there %s %s", n, there, strings.Join(names, ", "))
		}
	}
	return nil
}
