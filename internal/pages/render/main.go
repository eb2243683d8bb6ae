// Command render writes the documents that are made from records, or thins records:
//
//	go run ./internal/pages/render
//	go run ./internal/pages/render -thin 250 results/peers.json
//
// It is started in the root folder of the repository, as make docs does.
package main

import (
	"flag"
	"fmt"
	"os"

	"gemm/compare"
	"gemm/internal/pages"
)

func main() {
	thin := flag.Int("thin", 0, "keep at most so many samples a row in the named files, and render nothing")
	flag.Parse()
	if err := run(*thin, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

// run renders everything, or thins the named files.
func run(thin int, files []string) error {
	if thin == 0 {
		return pages.Render(".")
	}
	for _, name := range files {
		doc, err := compare.Load(name)
		if err != nil {
			return err
		}
		data, err := pages.Thin(doc, thin).Encode()
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
