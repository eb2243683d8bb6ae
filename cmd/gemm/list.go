package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/record"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/output"
	"gemm/mpi"
	"gemm/mpi/launch"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list all variants, and whether each can run here",
		UsageText: "[--json FILE [--force]]",
		Flags:     []cli.Flag{jsonFlag("the list"), forceFlag("replace the existing file")},
		Action:    runList,
	}
}

// listing is what list --json writes.
type listing struct {
	Schema   int             `json:"schema"`
	Variants []listedVariant `json:"variants"`
}

type listedVariant struct {
	record.Variant        // as records have it
	Available      bool   `json:"available"`
	Reason         string `json:"reason"` // why not
}

func runList(c *cli.Context) error {
	if err := checkFile(c); err != nil {
		return err
	}
	doc := listing{Schema: record.OutputSchema}
	for _, v := range catalog.Variants() {
		row := listedVariant{Variant: record.Of(v), Available: true}
		if err := available(c.Context, v); errors.Is(err, errInterrupted) {
			return err
		} else if err != nil {
			row.Available, row.Reason = false, reason(err)
		}
		doc.Variants = append(doc.Variants, row)
	}
	return writeResult(c, doc, func(out io.Writer) {
		w := output.NewTable(out, "VARIANT", "TYPES", "AVAILABLE", "DOES")
		for _, row := range doc.Variants {
			state, doc := "yes", row.Doc
			if !row.Available {
				state, doc = "no", row.Reason
			}
			w.Row(row.Name, strings.Join(row.Types, ","), state, doc)
		}
		_ = w.Flush()
	})
}

// available constructs v for its first type. It returns the error of that, or of the search for the
// program that starts or computes it.
func available(ctx context.Context, v gemm.Variant) error {
	if v.Location == gemm.OnGPU {
		return onGPU(ctx, v, v.Types()...)
	}
	err := gemm.ByType(v.Types()[0], constructible[float64], constructible[float32], constructible[half.F16],
		constructible[half.BF16],
		constructible[gf256.Elem])(v)
	if v.Location == gemm.OnRanks && err == nil {
		_, err = launch.Find(ctx, mpi.Version())
	}
	return err
}

func constructible[T gemm.Element](v gemm.Variant) error {
	_, err := gemm.New[T](v, nil)
	return err
}
