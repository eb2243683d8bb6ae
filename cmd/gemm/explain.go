package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/gemm/cmdline"
	"gemm/cuda"
	"gemm/cuda/explain"
	"gemm/cuda/nvrtc"
)

// explainFlags are the flags of gemm cuda that only --explain has.
func explainFlags() []cli.Flag {
	return []cli.Flag{
		switchFlag("explain", "explain every rung without a GPU: registers, occupancy, traffic, bank conflicts, changes"),
		&cli.StringFlag{Name: "cc", Usage: "`CAPABILITY`: with --explain: compute capability, such as 8.6 or sm_86"},
		switchFlag("tiles",
			"with --explain: list the feasible thread blocks, and the number of settings that a search tries"),
		cmdline.ListFlag("pad", "", "",
			"`LIST`: with --explain: padding between rows of a slice in shared memory, in elements", cmdline.Integer),
		&cli.IntFlag{Name: "multiprocessors", DefaultText: "none",
			Usage: "`COUNT`: with --explain: multiprocessors of the GPU, to compute waves of blocks"},
	}
}

// runExplain is gemm cuda --explain.
func runExplain(c *cli.Context) error {
	task, err := parseExplain(c)
	if err != nil {
		return err
	}
	if err := checkFile(c); err != nil {
		return err
	}
	if c.Bool("tiles") {
		doc, err := explain.NewTiles(task.Capability, task.Rungs)
		if err != nil {
			return err
		}
		return writeResult(c, doc, doc.Print)
	}
	library, err := nvrtc.Find()
	if err != nil {
		return err
	}
	folder, err := nvrtc.Folder()
	if err != nil {
		return err
	}
	cache := &nvrtc.Cache{Compiler: library, Folder: folder}
	logf(c, "NVRTC %s (%s) compiles for %s", library.Version(), library.File, task.Capability.Target())
	doc, err := explain.Rungs(c.Context, cache, task)
	if err != nil {
		return err
	}
	if cache.StoreErr != nil {
		logf(c, "compiled kernels are not kept: %v", cache.StoreErr)
	}
	if !slices.ContainsFunc(doc.Rungs, func(r explain.Row) bool { return r.Reason == "" }) {
		return fmt.Errorf("no rung can be compiled: %s", doc.Rungs[0].Reason)
	}
	return writeResult(c, doc, doc.Print)
}

// parseExplain returns what the flags ask for.
func parseExplain(c *cli.Context) (t explain.Task, err error) {
	if t.Capability, err = parseCapability(c); err != nil {
		return t, err
	}
	for _, typ := range cmdline.Listed[string](c, "type") {
		t.Rungs = append(t.Rungs, cuda.Ladder(typ)...)
	}
	if c.Bool("tiles") {
		return t, nil
	}
	t.Shapes = cmdline.Listed[gemm.Shape](c, "sizes")
	for _, s := range t.Shapes {
		const most = math.MaxInt32 / 2 // that kernels count
		if max(s.M, s.N, s.K) > most {
			return t, usagef("--sizes %s: m, n and k must be at most %d, the most that kernels can count", s, most)
		}
	}
	if t.MaxRegs, err = counts(c, "maxregs", minRegisters, maxRegisters); err != nil {
		return t, err
	}
	if t.Pads, err = counts(c, "pad", 1, 64); err != nil {
		return t, err
	}
	if c.IsSet("pad") {
		for i, pad := range t.Pads {
			if pad == 0 {
				t.Pads[i] = cuda.NoPad
			}
		}
	}
	if c.IsSet("multiprocessors") {
		if err := positive(c, "multiprocessors"); err != nil {
			return t, err
		}
		t.Multiprocessors = c.Int("multiprocessors")
	}
	return t, nil
}

// The registers of a thread that the compiler can be limited to.
const minRegisters, maxRegisters = 16, 255

// counts returns the numbers that a flag lists, each 0 or from least to most: 0 alone where the flag is not there.
func counts(c *cli.Context, flag string, least, most int) ([]int, error) {
	if !c.IsSet(flag) {
		return []int{0}, nil
	}
	values := cmdline.Listed[int](c, flag)
	for _, n := range values {
		if n != 0 && (n < least || n > most) {
			return nil, usagef("--%s %d: must be 0 or %d to %d", flag, n, least, most)
		}
	}
	return values, nil
}
