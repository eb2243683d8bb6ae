package explain

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gemm/cuda"
	"gemm/cuda/nvrtc"
	"gemm/gemmtest"
	"gemm/internal/occupancy"
)

var update = flag.Bool("update", false, "write what the tests find to docs/cuda.md")

// documented are the rungs in the table of docs/cuda.md on the instructions of a slice.
var documented = regexp.MustCompile(`(?m)^\| ([\w-]+) \| (\d+) \| (\d+) (FFMA|HGMMA) \| (\d+) \| ([\d.]+) \|$`)

// TestLoops wants as many multiply-adds in the loop of the machine code as a slice has, for each rung in the table of
// docs/cuda.md, and what the table says. Loops have copies, except the loops of consumers.
func TestLoops(t *testing.T) {
	library, err := nvrtc.Find()
	gemmtest.Require(t, "nvrtc", err)
	disassembler, err := FindDisassembler()
	gemmtest.Require(t, "nvdisasm", err)
	folder, err := nvrtc.Folder() // where the tests of cuda keep what they compile
	gemmtest.Must(t, err)
	compiler := &nvrtc.Cache{Compiler: library, Folder: folder}
	const page = "../../docs/cuda.md"
	text, err := os.ReadFile(page)
	gemmtest.Must(t, err)
	current := string(text)
	rows := documented.FindAllStringSubmatch(current, -1)
	if len(rows) < 5 {
		t.Fatalf("the table of docs/cuda.md has the rows %q", rows)
	}
	perWarp := map[string]float64{"FFMA": 32, "HGMMA": 64 * 256 * 8 / 4}
	for _, row := range rows {
		rungs := cuda.Ladder("f32")
		at := slices.IndexFunc(rungs, func(r cuda.Rung) bool { return r.Name == row[1] })
		if at < 0 {
			t.Errorf("docs/cuda.md has a rung %s, which is not there", row[1])
			continue
		}
		r := rungs[at]
		e, err := cuda.Explain(compiler, r, r.Tiles[0], 0, occupancy.Capability{Major: 9})
		gemmtest.Must(t, err)
		found, err := loop(t.Context(), disassembler, e)
		if err != nil || found == nil {
			t.Fatalf("%s: %v, %v", r.Name, found, err)
		}
		each := r.MultiplyAdds(r.Tiles[0])
		count := found.Instructions[row[4]]
		if got := count * perWarp[row[4]]; !(got >= 0.99*each && got <= 1.01*each) {
			t.Errorf("%s: %v multiply-adds of %s, want %v: %v", r.Name, got, row[4], each, found)
		}
		by := counts(found)
		copies := by[columns["LDG"]-1]
		if consumers := row[4] == "HGMMA"; consumers != (copies == 0) {
			t.Errorf("%s: %v copies: %v", r.Name, copies, found)
		}
		want := fmt.Sprintf("| %s | %d | %.4g %s | %.4g | %.4g |", r.Name, found.Slice, count, row[4],
			floats.Sum(by[columns["LDS"]-1:columns["LDSM"]]), by[len(by)-1])
		if library.Version() == "13.0" && want != row[0] {
			if current = strings.Replace(current, row[0], want, 1); !*update {
				t.Errorf("docs/cuda.md has\n%s\nwant\n%s\nor run go test -run TestLoops -update", row[0], want)
			}
		}
	}
	if *update {
		gemmtest.Must(t, os.WriteFile(page, []byte(current), 0o644))
	}
}

// TestLoopFaults wants the table left out without a disassembler, and an error if it fails.
func TestLoopFaults(t *testing.T) {
	e := cuda.Explanation{Rung: cuda.Ladder("f32")[0]}
	if found, err := loop(t.Context(), "", e); found != nil || err != nil {
		t.Errorf("without a disassembler: %v, %v", found, err)
	}
	absent := filepath.Join(t.TempDir(), "absent")
	if _, err := loop(t.Context(), absent, e); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("with a disassembler that is not there: %v", err)
	}
	doc := Document{Rungs: []Row{{Variant: "cuda/naive"}}}
	var b strings.Builder
	if doc.Print(&b); strings.Contains(b.String(), "Instructions of a warp") {
		t.Errorf("without counts there is a table: %s", b.String())
	}
	doc.Rungs[0].Loop = &Loop{8, 1, map[string]float64{"FFMA": 64, "LDS": 4, "LDS.U8": 1, "LDS.128": 3, "LDSM": 2,
		"LDG.128": 7, "IMAD": 5}}
	doc.Print(&b)
	if want := "\ncuda/naive 8 0 64 5 0 3 2 0 7 0 5 86\n"; !strings.Contains(squeeze(b.String()), want) {
		t.Errorf("the table has no %q: %s", want, b.String())
	}
}
