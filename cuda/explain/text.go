package explain

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"text/template"

	"gemm/cuda"
)

//go:embed tables.txt
var text string

// templates write documents as tables. In tables.txt, " | " is between two cells of a line.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"banks": banks, "compiled": compiled, "distinct": distinct, "figure": figure, "left": left,
	"mostRegisters": mostRegisters, "prefixed": prefixed, "resources": resources, "taken": taken, "join": strings.Join,
	"bar":        func(share float64) string { return strings.Repeat("#", int(math.Round(20*share))) },
	"div":        func(a, b int) int { return a / b },
	"micro":      func(seconds float64) string { return fmt.Sprintf("%.4g µs", 1e6*seconds) },
	"mod":        func(a, b int) int { return a % b },
	"modelClock": func() int { return modelClock },
	"percent":    func(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) },
}).Parse(strings.ReplaceAll(text, " | ", "\t")))

// render writes a document by its template, to a writer that takes all.
func render(out io.Writer, name string, document any) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if err := cmp.Or(templates.ExecuteTemplate(w, name, document), w.Flush()); err != nil {
		panic(err) // the templates are a part of the program
	}
}

// Print writes the document as tables, to a writer that takes all.
func (d Document) Print(out io.Writer) { render(out, "explanation", d) }

// compiled returns the rows of kernels that have been compiled.
func compiled(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Reason != "" })
}

// distinct returns compiled rows, the first of those that differ in limits of registers only.
func distinct(rows []Row) []Row {
	return slices.CompactFunc(compiled(rows), func(a, b Row) bool {
		return a.Variant == b.Variant && a.Type == b.Type && a.Tile == b.Tile
	})
}

// figure writes whole numbers whole, and others with four digits.
func figure(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return fmt.Sprintf("%.4g", x)
}

// prefixed writes a number with a prefix of its size.
func prefixed(x float64) string {
	const prefixes = " kMGTPE"
	i := 0
	for ; x >= 1000 && i < len(prefixes)-1; i++ {
		x /= 1000
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %c", x, prefixes[i]))
}

// banks returns how shared memory is used: reads of A and B, and writes.
func banks(accesses []cuda.Access) []string {
	cells := []string{"-", "-", "-", "-"}
	for _, a := range accesses {
		i := strings.Index("AB", a.Operand)
		if a.Write {
			i += 2
		}
		cells[i] = fmt.Sprintf("%d B %.3g+%.3g", a.Bytes, a.Passes-a.Conflict, a.Conflict)
		if a.Lanes > 1 {
			cells[i] += fmt.Sprintf(" to %.3g", a.Lanes)
		}
	}
	return cells
}
