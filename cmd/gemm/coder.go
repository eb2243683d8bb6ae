package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/record"
	"gemm/gf256"
	"gemm/internal/timeline"
	"gemm/shard"
)

// barCoder is a coder whose progress a bar shows.
type barCoder struct {
	shard.Coder
	variant string // of --variant

	timeline *timeline.Recorder // nil without --trace

	what string                   // of the bar
	bar  *progressbar.ProgressBar // nil: none
}

// newEncoder returns newCoder, and the matrix that --matrix names, if K and M are valid.
func newEncoder(c *cli.Context) (*barCoder, shard.Matrix, error) {
	if err := positive(c, "data", "parity"); err != nil {
		return nil, 0, err
	}
	if data, parity := c.Int("data"), c.Int("parity"); data > gf256.MaxShards-parity {
		return nil, 0, usagef("--data %d and --parity %d: at most %d shards in all are possible, one for each element "+
			"of the field", data, parity, gf256.MaxShards)
	}
	matrix, err := shard.ParseMatrix(c.String("matrix"))
	if err != nil {
		return nil, 0, usagef("--%v", err)
	}
	coder, err := newCoder(c)
	return coder, matrix, err
}

// newCoder returns a coder with the multiplier that --variant names, or else with those that may be the fastest. The
// caller calls end.
func newCoder(c *cli.Context) (*barCoder, error) {
	applyTuned(c)
	coder := withBar(c)
	if name := c.String("variant"); name != "" {
		x := candidate(name)
		var err error
		coder.variant = x.Name
		coder.Multiplier, err = x.Start(c.Context)
		coder.Products = x.Products
		return coder, orInterrupted(c, err)
	}
	coder.Autotuner = &shard.Autotuner{Candidates: []*shard.Candidate{candidate("serial/packed")}}
	if runtime.GOMAXPROCS(0) > 1 {
		coder.Autotuner.Candidates = append(coder.Autotuner.Candidates, candidate("parallel/packed"))
	}
	coder.Autotuner.Candidates = append(coder.Autotuner.Candidates, candidate("cuda/tuned"))
	coder.Autotuner.Chosen = func(rates []shard.Rate) {
		coder.clear()
		logf(c, "%s", chosenText(rates))
	}
	return coder, nil
}

// leastTuned is the bytes of a file that pay for a measurement of variants, and leastOnGPU for starting the program for
// the GPU too, which takes up to half a second.
const (
	leastTuned = 1 << 30
	leastOnGPU = 4 << 30
)

// candidate returns the variant with the name as a multiplier of slices. If it has threads or another processor for one
// product, slices are multiplied one after the other.
func candidate(name string) *shard.Candidate {
	x := &shard.Candidate{Name: name}
	v, err := named(name, catalog.Variants())
	if err == nil && (v.Has("threads") || v.Location != gemm.InProcess) {
		x.Products = 1
	}
	onGPU := err == nil && v.Location == gemm.OnGPU
	if x.Least = leastTuned; onGPU {
		x.Least = leastOnGPU
	}
	x.Start = func(ctx context.Context) (gemm.Multiplier[gf256.Elem], error) {
		by, err := choose[gf256.Elem](ctx, product{variant: name, alpha: 1})
		if err == nil && onGPU { // its worker begins with the first product
			err = by.multiplier.Multiply(ctx, gemm.NewMatrix[gf256.Elem](1, 1), gemm.NewMatrix[gf256.Elem](1, 1),
				gemm.NewMatrix[gf256.Elem](1, 1))
		}
		return by.multiplier, err
	}
	return x
}

// chosenText says which variant was chosen, and why.
func chosenText(rates []shard.Rate) string {
	var others []string
	for _, r := range rates[1:] {
		others = append(others, fmt.Sprintf("%s %s/s", r.Name, bytes(r.Speed)))
	}
	text := fmt.Sprintf("%s multiplies: %s/s on the first slices", rates[0].Name, bytes(rates[0].Speed))
	if len(others) > 0 {
		text += ", " + strings.Join(others, ", ")
	}
	return text + "; --variant names another"
}

// used returns the name of the variant that multiplies.
func (b *barCoder) used() string {
	if b.Autotuner != nil {
		return b.Autotuner.Used()
	}
	return b.variant
}

// end ends what multiplies.
func (b *barCoder) end() {
	if b.Autotuner != nil {
		_ = b.Autotuner.Close()
	} else if m, ok := b.Multiplier.(io.Closer); ok {
		_ = m.Close()
	}
}

// withBar returns a coder with a bar where standard error is a terminal.
func withBar(c *cli.Context) *barCoder {
	b := &barCoder{}
	f := terminalOf(c.App.ErrWriter)
	if f == nil {
		return b
	}
	b.Progress = func(what string, done, total int64) {
		if what != b.what {
			b.clear()
			b.what = what
			b.bar = newBar(f, total, what, progressbar.OptionShowBytes(true))
		}
		_ = b.bar.Set64(done) // an error of the terminal is no reason to stop
	}
	return b
}

// record records a timeline, if --trace requests one.
func (b *barCoder) record(c *cli.Context) error {
	if c.IsSet("trace") {
		b.timeline = &timeline.Recorder{}
		c.Context = timeline.With(c.Context, b.timeline)
	}
	return checkTrace(c)
}

func (b *barCoder) writeTimeline(c *cli.Context, set shard.Set) error {
	if b.timeline == nil {
		return nil
	}
	host, err := record.DescribeHost()
	if err != nil {
		return err
	}
	row := record.Trace{Activity: b.timeline.Activity()}
	row.Host, row.Variant, row.Type, row.Op = host.ID, b.used(), gemm.TypeOf[gf256.Elem]().Name, "nn"
	row.Shape = gemm.Shape{M: set.Parity, N: int(set.Payload()), K: set.Data}
	return writeTrace(c, record.Document{Hosts: []record.Host{host}, Traces: []record.Trace{row}})
}

func (b *barCoder) clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

// orInterrupted returns err with the flag that avoids it, and says what Ctrl-C leaves.
func orInterrupted(c *cli.Context, err error) error {
	if errors.Is(err, shard.ErrExists) {
		return fmt.Errorf("%w; --force replaces what exists", err)
	}
	if c.Context.Err() != nil && errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; nothing was written", errInterrupted)
	}
	return err
}

// throughput says how fast a file was read or written, synchronising it included.
func throughput(length int64, start time.Time, variant string) string {
	took := time.Since(start)
	return fmt.Sprintf("%s in %s, %s/s, by %s", bytes(float64(length)), seconds(took.Seconds()),
		bytes(float64(length)/took.Seconds()), variant)
}
