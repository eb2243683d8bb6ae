// Command render writes the documents that are made from records, or packs records for results/:
//
//	go run ./cmd/pages/render
//	go run ./cmd/pages/render -pack results/peers.json.gz report/results.json
//
// It is started in the root folder of the repository, as make docs does.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"gemm/cmd/pages"
)

func main() {
	name := flag.String("pack", "", "write the records of the named files to this file, smaller, and render nothing")
	flag.Parse()
	if err := run(*name, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

// run renders everything, or packs the named files.
func run(name string, files []string) error {
	switch {
	case name != "" && len(files) == 0:
		return errors.New("-pack needs the files whose records it packs")
	case name != "":
		return pages.Pack(name, files...)
	case len(files) > 0:
		return fmt.Errorf("%s: without -pack there are no files", files[0])
	}
	return pages.Render(".")
}
