package explain

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gemm/compare/record"
	"gemm/cuda"
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
	"smsp__average_warps_issue_stalled_branch_resolving_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_drain_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_imc_miss_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_membar_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_sleeping_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_warpgroup_arrive_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio",
	"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio",
	"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
	"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
	"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
	"smsp__sass_data_bytes_mem_shared_op_ld.sum",
	"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
	"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
	"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
	"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
	"lts__t_sectors_op_read.sum",
	"dram__bytes_read.sum",
}

// besideKernels are the kernels of this program that run before a rung's main one, or without it.
var besideKernels = []string{"align", "transpose", "pack_a", "pack_b", "to_tf32", "split_a", "split_b", "peak",
	"peak_warpgroups"}

// ProfileTimeout is the time limit of a row under the profiler, which runs a launch several times and restores memory
// in between.
const ProfileTimeout = 10 * time.Minute

// profilerArgs returns the arguments of the profiler before the command that it runs. The profiler writes to the
// file log: standard output belongs to the worker, which says by the driver's calls what is profiled.
func profilerArgs(log string) []string {
	return []string{
		"--log-file", log, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
		"--target-processes", "application-only", "--profile-from-start", "off",
		"--kernel-name-base", "demangled", "--metrics", strings.Join(counterNames, ","),
	}
}

// Counters calls measure, which measures rows with workers under the profiler, and returns the counters of the kernels
// that multiplied, by the cuda.Mark of their products. worker returns the command of a worker without a profiler.
// missing is why a product has no counters, if that is known; err is of measure.
func Counters(worker Command, measure func(worker Command) error) (found map[string]Values, missing, err error) {
	scratch, err := output.NewScratch("counters")
	if err != nil {
		return nil, nil, err
	}
	defer scratch.Remove()
	var files []string // a worker each
	err = measure(func(ctx context.Context) (*exec.Cmd, error) {
		served, err := worker(ctx)
		if err != nil {
			return nil, err
		}
		files = append(files, filepath.Join(scratch.Path, fmt.Sprint("log", len(files))))
		cmd := exec.CommandContext(ctx, Profiler, append(profilerArgs(files[len(files)-1]), served.Args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C") // numbers have a decimal point then
		return cmd, nil
	})
	found = map[string]Values{}
	for _, file := range files {
		log, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, nil, err
		}
		counters, err := parseCounters(string(log))
		if complaint := complaintOf(string(log)); complaint != "" {
			err = fmt.Errorf("%s: %s: %s", Profiler, complaint, remedy(complaint))
		}
		missing = cmp.Or(missing, err)
		maps.Copy(found, counters)
	}
	return found, missing, err
}

// Values are counters by the profiler's names.
type Values = map[string]float64

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

// parseCounters returns the counters in the profiler's log by the cuda.Mark before them: of the last one of the
// launches with the most instructions. The log has lines of the profiler, and a table whose lines begin with a quote:
// names of columns, units, and then a line per launch. Counters that the profiler does not have on this GPU are left
// out.
func parseCounters(log string) (map[string]Values, error) {
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
	found, mark := map[string]Values{}, ""
	for _, launch := range launches {
		function, _, _ := strings.Cut(launch[kernel], "(")
		if strings.HasPrefix(function, cuda.Marked) {
			mark = function
		}
		if mark == "" || slices.Contains(append(besideKernels, mark, ""), function) { // "": the line of the units
			continue
		}
		values, err := counterValues(names, launch)
		if err != nil {
			return found, err
		}
		if values[executed] >= found[mark][executed] {
			found[mark] = values
		}
	}
	return found, nil
}

// counterValues returns the counters in a line of the table with columns of these names.
func counterValues(names, launch []string) (Values, error) {
	counters := Values{}
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
