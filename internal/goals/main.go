// Command goals reads files of records and prints which of the developers' goals they meet.
// Its exit status is 1 where one is missed.
package main

import (
	"fmt"
	"os"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
)

func main() {
	missed := 0
	for _, name := range os.Args[1:] {
		doc, err := compare.Load(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "goals:", err)
			os.Exit(1)
		}
		for _, g := range analysis.Goals(doc) {
			fmt.Println(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".json")+":", g)
			if g.Verdict() == "missed" {
				missed++
			}
		}
	}
	if missed > 0 {
		fmt.Fprintf(os.Stderr, "goals: %d are missed\n", missed)
		os.Exit(1)
	}
}
