package explain

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
)

//go:embed testdata/loops.txt
var listing string

// TestKLoop finds the loops over k of two kernels, whose instructions were counted by hand, and none in a third. In
// gemm, a wait lies behind the loop over k, which has two slices a turn, and the loop over tiles around it. In nested,
// a slice copies by one of two ways and has several turns of a loop inside.
func TestKLoop(t *testing.T) {
	for _, test := range []struct {
		kernel       string
		multiplyAdds float64
		slices       float64
		want         map[string]float64
	}{
		{"gemm", 2 * 64 * 256 * 8 / 4, 2, map[string]float64{"SYNCS": 0.5, "BRA": 1.5, "LDS": 1, "WARPGROUP": 0.5,
			"HGMMA": 2, "LDG": 0.5}},
		{"nested", 16 * 32, 1, map[string]float64{"BRA": 11, "IADD3": 2, "LDG.128": 1, "LDS.128": 8, "FFMA": 16,
			"STS.128": 1, "BAR": 1}},
	} {
		code, err := parse(listing, test.kernel)
		gemmtest.Must(t, err)
		got := code.kLoop(test.multiplyAdds)
		if got == nil || got.Slices != test.slices || fmt.Sprint(got.Instructions) != fmt.Sprint(test.want) {
			t.Errorf("%s: %v\nwant %v slices of %v", test.kernel, got, test.slices, test.want)
		}
	}
	code, err := parse(listing, "straight")
	gemmtest.Must(t, err)
	if got := code.kLoop(1); got != nil {
		t.Errorf("a kernel without a loop: %v", got)
	}
	if _, err := parse(listing, "absent"); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("a kernel that is not there: %v", err)
	}
}

// TestMultiplyAdds counts the multiply-adds of a warp.
func TestMultiplyAdds(t *testing.T) {
	for name, want := range map[string]float64{
		"FFMA": 32, "DFMA": 32, "HMMA.1688.F32.TF32": 1024, "HMMA.16816.F32": 2048, "HMMA.16816.F32.BF16": 2048,
		"DMMA.8x8x4": 256, "DMMA.16x8x16": 2048, "HGMMA.64x256x8.F32.TF32": 32768, "HGMMA.64x128x16.F32": 32768,
		"HFMA2.MMA": 0, "IMAD": 0, "LDS": 0,
	} {
		if got := multiplyAddsOf([]instruction{{name: name}}); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestKind keeps the width of an access in a name, and no other suffix.
func TestKind(t *testing.T) {
	for name, want := range map[string]string{"LDS": "LDS", "LDS.U.128": "LDS.128", "LDS.64": "LDS.64",
		"STS.U8": "STS.U8", "LDG.E.128.CONSTANT": "LDG.128", "LDGSTS.E.BYPASS.128": "LDGSTS.128",
		"LDSM.16.M88.4": "LDSM", "IMAD.WIDE.U32": "IMAD", "HGMMA.64x128x16.F32": "HGMMA"} {
		if got := (instruction{name: name}).kind(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestDisassemblerFaults wants a remedy if there is no disassembler, and what it says if it fails.
func TestDisassemblerFaults(t *testing.T) {
	t.Setenv(DisassemblerVariable, "/nowhere/nvdisasm")
	if _, err := FindDisassembler(); !errors.Is(err, gemm.ErrUnavailable) ||
		!strings.Contains(err.Error(), DisassemblerVariable) {
		t.Errorf("without a disassembler: %v", err)
	}
	program := filepath.Join(t.TempDir(), "fails")
	gemmtest.Must(t, os.WriteFile(program, []byte("#!/bin/sh\necho broken cubin >&2\nexit 3\n"), 0o700))
	_, err := disassemble(t.Context(), program, nil)
	if err == nil || !strings.Contains(err.Error(), "3: broken cubin") {
		t.Errorf("a disassembler that fails: %v", err)
	}
}
