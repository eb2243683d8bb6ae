package explain

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda/userkernel"
	"gemm/internal/output"
)

// Profiler is the command of NVIDIA's profiler, Nsight Compute.
const Profiler = "ncu"

// counterNames are the counters that are put into a row, by the profiler's names. They are
// few, since a kernel is run again for some of them at a time.
var counterNames = []string{
	"sm__throughput.avg.pct_of_peak_sustained_elapsed",
	"sm__inst_issued.avg.pct_of_peak_sustained_active",
	"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
	"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
	"sm__warps_active.avg.pct_of_peak_sustained_active",
	executed,
	"smsp__inst_executed_pipe_tensor_op_hmma.sum",
	"smsp__inst_executed_pipe_tensor_op_dmma.sum",
	"smsp__inst_executed_pipe_fma.sum",
	"smsp__inst_executed_pipe_fp64.sum",
	"smsp__inst_executed_op_shared_ld.sum",
	"smsp__inst_executed_op_ldsm.sum",
	"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio",
	"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
	"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
	"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
	"lts__t_sectors_op_read.sum",
	"dram__bytes_read.sum",
}

// kernelPattern is the profiler's expression for the names of kernels that multiply: gemm for the rungs, and the names
// of cuBLAS, some of which are in the arguments of a template. It matches a whole name as well as a part of one.
const kernelPattern = `regex:.*(gemm|gemv|cutlass|xmma|nvjet|sm[0-9]+_).*`

// pattern returns the profiler's expression for the names of the kernel of a variant.
func pattern(v gemm.Variant) string {
	if k, ok := v.Source.(userkernel.Kernel); ok {
		return `regex:^` + k.Symbol + `(\(.*)?$`
	}
	return kernelPattern
}

// besideKernels are the kernels of this program that run before a rung's main one, or without it.
var besideKernels = []string{"align", "transpose", "pack_a", "pack_b", "to_tf32", "split_a", "split_b", "peak",
	"peak_warpgroups"}

// profileTimeout is the time limit of a row under the profiler, which runs each launch several times and
// restores memory in between.
const profileTimeout = 10 * time.Minute

// profilerArgs returns the arguments of the profiler before the command that it runs. The profiler writes to the
// file log: standard output belongs to the worker.
func profilerArgs(log, kernels string) []string {
	return []string{
		"--log-file", log, "--csv", "--page", "raw", "--print-units", "base",
		"--clock-control", "none", "--target-processes", "application-only",
		"--kernel-name-base", "demangled", "-k", kernels, "--metrics", strings.Join(counterNames, ","),
	}
}

// Counters has the variant of the row measured once under the profiler and returns the counters of its kernel. measure
// measures the row again with a worker that the command starts, and worker returns the command without a profiler. If
// the kernel has another setting now, it is not the kernel that was timed, and that is an error.
func Counters(ctx context.Context, v gemm.Variant, row record.Record, worker Command,
	measure func(ctx context.Context, limit time.Duration, worker Command) (record.Record, error)) (map[string]float64,
	error) {
	scratch, err := output.NewScratch("counters")
	if err != nil {
		return nil, err
	}
	defer scratch.Remove()
	file := filepath.Join(scratch.Path, "log")
	got, err := measure(ctx, profileTimeout, func(ctx context.Context) (*exec.Cmd, error) {
		served, err := worker(ctx)
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, Profiler, append(profilerArgs(file, pattern(v)), served.Args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C") // numbers have a decimal point then
		return cmd, nil
	})
	if err != nil {
		return nil, err
	}
	log, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	counters, err := parseCounters(string(log))
	switch {
	case got.Status != record.OK:
		err = fmt.Errorf("under %s the row is %s: %s", Profiler, got.Status, got.Note())
	case err == nil && got.Resolved.String() != row.Resolved.String():
		return nil, fmt.Errorf("it runs with %v now and ran with %v: measure it again with --force", got.Resolved,
			row.Resolved)
	}
	if complaint := complaintOf(string(log)); err != nil && complaint != "" {
		err = fmt.Errorf("%s: %s: %s", Profiler, complaint, remedy(complaint))
	}
	return counters, err
}

// Command returns a command, or says why there is none.
type Command = func(ctx context.Context) (*exec.Cmd, error)

// complaintOf returns the first error in the profiler's log; empty if there is none.
func complaintOf(log string) string {
	for line := range strings.Lines(log) {
		if text, ok := strings.CutPrefix(line, "==ERROR=="); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// executed distinguishes the kernel that multiplied from a kernel that did nothing, such as a fallback.
const executed = "smsp__inst_executed.sum"

// parseCounters returns the counters of a launch of a main kernel from the profiler's log: of the last one of those
// with the most instructions. The log has lines of the profiler, and a table whose lines begin with a quote: names of
// columns, units, and then a line per launch. Counters that the profiler does not have on this GPU are left out.
func parseCounters(log string) (map[string]float64, error) {
	var table strings.Builder
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, `"`) {
			table.WriteString(line)
		}
	}
	lines, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("the table that %s wrote is broken: %w", Profiler, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s wrote no table", Profiler)
	}
	names, launches := lines[0], lines[1:]
	kernel := slices.Index(names, "Kernel Name")
	if kernel < 0 {
		return nil, fmt.Errorf("the table that %s wrote has no column Kernel Name", Profiler)
	}
	var counters map[string]float64
	for _, launch := range slices.Backward(launches) {
		if !isMain(launch[kernel]) {
			continue
		}
		values, err := counterValues(names, launch)
		if err != nil {
			return nil, err
		}
		if counters == nil || values[executed] > counters[executed] {
			counters = values
		}
	}
	if counters == nil {
		return nil, fmt.Errorf("%s saw no kernel that multiplies", Profiler)
	}
	return counters, nil
}

// isMain reports whether a kernel of that name, which is empty in the line of the units, is the one that multiplies.
func isMain(name string) bool {
	function, _, _ := strings.Cut(name, "(")
	return function != "" && !slices.Contains(besideKernels, function)
}

// counterValues returns the counters in a line of the table with columns of these names.
func counterValues(names, launch []string) (map[string]float64, error) {
	counters := map[string]float64{}
	for i, name := range names {
		if !slices.Contains(counterNames, name) {
			continue
		}
		text := strings.TrimSpace(strings.TrimPrefix(launch[i], "(!)"))
		if text == "" || text == "n/a" {
			continue
		}
		value, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if err != nil {
			return nil, fmt.Errorf("%s wrote %q for %s, which is not a number", Profiler, launch[i], name)
		}
		if record.Number(value).Known() {
			counters[name] = value
		}
	}
	if len(counters) == 0 {
		return nil, fmt.Errorf("%s has none of the counters on this GPU", Profiler)
	}
	return counters, nil
}

// remedy says what to do about a complaint of the profiler.
func remedy(complaint string) string {
	if strings.Contains(complaint, "ERR_NVGPUCTRPERM") {
		return "run as root, or load the kernel module with NVreg_RestrictProfilingToAdminUsers=0"
	}
	return "see whether " + Profiler + " runs here by itself, or leave --counters out"
}
