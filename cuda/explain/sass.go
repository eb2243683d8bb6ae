package explain

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gemm"
	"gemm/internal/ipc"
	"gemm/internal/output"
)

// DisassemblerVariable is the environment variable that names the disassembler.
const DisassemblerVariable = "GEMM_NVDISASM"

// FindDisassembler returns the path of the disassembler. The error is an ErrUnavailable.
func FindDisassembler() (string, error) {
	name := cmp.Or(os.Getenv(DisassemblerVariable), "nvdisasm")
	path, err := exec.LookPath(name)
	if err != nil {
		return "", gemm.Unavailablef("no disassembler %s: %w", name, err).
			WithRemedy("install a CUDA toolkit, or set " + DisassemblerVariable + " to NVIDIA's nvdisasm")
	}
	return path, nil
}

// disassembly is the time limit of the disassembler.
const disassembly = time.Minute

func disassemble(ctx context.Context, disassembler string, cubin []byte) (string, error) {
	scratch, err := output.NewScratch("sass")
	if err != nil {
		return "", err
	}
	defer scratch.Remove()
	file := filepath.Join(scratch.Path, "cubin")
	if err := os.WriteFile(file, cubin, 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, disassembly)
	defer cancel()
	cmd := exec.CommandContext(ctx, disassembler, "-c", file)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := ipc.Run(cmd, time.Second); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("%s: %w: %s; set %s to NVIDIA's nvdisasm of a newer toolkit", disassembler, err,
			cmp.Or(first, "it says nothing"), DisassemblerVariable)
	}
	return stdout.String(), nil
}

// instruction is an instruction of a kernel.
type instruction struct {
	name        string // with its suffixes, such as HGMMA.64x256x8.F32.TF32
	conditional bool
	target      string // label, of a branch
}

// base returns the name without suffixes.
func (i instruction) base() string {
	base, _, _ := strings.Cut(i.name, ".")
	return base
}

// kind returns the name without suffixes, but with the width of an access to memory unless a lane has 4 bytes: LDS.128.
func (i instruction) kind() string {
	access := strings.HasPrefix(i.name, "LD") || strings.HasPrefix(i.name, "ST")
	if !access || i.base() == "LDSM" || i.base() == "STSM" {
		return i.base()
	}
	for suffix := range strings.SplitSeq(i.name, ".") {
		if width[suffix] > 0 {
			return i.base() + "." + suffix
		}
	}
	return i.base()
}

// width is the bytes of a lane in accesses with a suffix.
var width = map[string]float64{"128": 16, "64": 8, "U16": 2, "U8": 1}

// code is the instructions of a kernel in their order.
type code struct {
	instructions []instruction
	labels       map[string]int // the instruction after it
}

var (
	section  = regexp.MustCompile(`^\s*\.section\s+\.text\.([^\s,]+)`)
	labelled = regexp.MustCompile(`^(\.L_x_\d+):`)
	assembly = regexp.MustCompile(`^\s+/\*[0-9a-f]+\*/\s+(@!?\w+\s+)?([A-Z][\w.]*)[^\x60]*` +
		`(?:\x60\((\.L_x_\d+)\))?`) // \x60 is a backquote
)

func parse(listing, kernel string) (code, error) {
	out := code{labels: map[string]int{}}
	inside := false
	for line := range strings.Lines(listing) {
		if found := section.FindStringSubmatch(line); found != nil {
			inside = found[1] == kernel
			continue
		}
		if !inside {
			continue
		}
		if found := labelled.FindStringSubmatch(line); found != nil {
			out.labels[found[1]] = len(out.instructions)
		} else if found := assembly.FindStringSubmatch(line); found != nil {
			out.instructions = append(out.instructions, instruction{found[2], found[1] != "", found[3]})
		}
	}
	if len(out.instructions) == 0 {
		return out, fmt.Errorf("cuda: the disassembler shows no code of %s", kernel)
	}
	return out, nil
}

// lanes are the threads of a warp.
const lanes = 32

// shaped is the name of an instruction of the tensor cores, with the shape of its product: 16816 is 16×8×16.
var shaped = regexp.MustCompile(`^(HGMMA|HMMA|DMMA|IMMA|QGMMA|IGMMA)\.(?:(\d+)x(\d+)x(\d+)|(\d+))\b`)

// digits are shapes that are written without signs.
var digits = map[string][3]int{
	"884": {8, 8, 4}, "1684": {16, 8, 4}, "1688": {16, 8, 8}, "16816": {16, 8, 16}, "16832": {16, 8, 32},
}

// plain are the multiply-adds of instructions of the other pipes for each lane. Our kernels have no HFMA2: the compiler
// writes constants by it.
var plain = map[string]float64{"FFMA": 1, "DFMA": 1, "FFMA2": 2}

// multiplyAddsOf returns the multiply-adds of a warp in the instructions. Those on four warps count as a quarter.
func multiplyAddsOf(all []instruction) float64 {
	total := 0.0
	for _, in := range all {
		total += lanes * plain[in.base()]
		found := shaped.FindStringSubmatch(in.name)
		if found == nil {
			continue
		}
		shape := digits[found[5]]
		for i := range shape {
			if found[2] != "" {
				shape[i], _ = strconv.Atoi(found[2+i]) // it matched as digits
			}
		}
		product := float64(shape[0] * shape[1] * shape[2])
		if strings.HasSuffix(found[1], "GMMA") {
			product /= 4
		}
		total += product
	}
	return total
}
