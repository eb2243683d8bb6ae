// Command bench measures how fast programs make shards or parity of files: gemm rs, the example program stream-encoder
// of klauspost/reedsolomon, and par2. It writes a record, which the pages render into docs/rs.md. scripts/rs-bench.sh
// calls it.
//
// The programs of a case are interleaved, A B C A B C, and each sample is a process of its own, with its start. A
// program writes into an empty folder, which is removed afterwards, so that its successor has the same memory.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"gemm"
	"gemm/compare/record"
	"gemm/internal/ipc"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is what is measured.
type bench struct {
	gemm, encoder, par2 string // programs
	gpu                 string // its name; empty: none
	dir, out            string
	rounds              int
	par2Most            int64 // bytes
	store               *record.Store
}

func run(ctx context.Context) error {
	var b bench
	flag.StringVar(&b.gemm, "gemm", "bin/gemm", "program")
	flag.StringVar(&b.encoder, "encoder", "", "stream-encoder of klauspost/reedsolomon; empty: none")
	flag.StringVar(&b.par2, "par2", "", "par2; empty: none")
	flag.StringVar(&b.gpu, "gpu", "", "name of the GPU for cuda/tuned; empty: none")
	flag.StringVar(&b.dir, "dir", "/dev/shm", "folder for the files, best in memory")
	flag.StringVar(&b.out, "out", "rs.json", "record to write")
	flag.IntVar(&b.rounds, "rounds", 5, "samples of each program")
	par2Most := flag.Int64("par2-most", 512, "largest file for par2, MiB")
	cases := flag.String("cases", "10+4:64,50+20:64,10+4:512,50+20:512,10+4:4096,50+20:4096",
		"data and parity shards, and MiB of the file")
	command := flag.String("command", strings.Join(os.Args, " "), "command to note in the record")
	flag.Parse()

	host, err := record.DescribeHost()
	if err != nil {
		return err
	}
	if b.gpu != "" {
		host.GPUs = []string{b.gpu}
	}
	if b.store, err = record.OpenStore(b.out, record.Replace); err != nil {
		return err
	}
	defer b.store.Close()
	in := record.NewRun(*command, host.ID, time.Now())
	if err := b.store.Put(record.Document{Hosts: []record.Host{host}, Runs: []record.RunInfo{in}}); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp(b.dir, "gemm-rs-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	b.par2Most = *par2Most << 20
	made := int64(0)
	for text := range strings.SplitSeq(*cases, ",") {
		var c shards
		if _, err := fmt.Sscanf(text, "%d+%d:%d", &c.data, &c.parity, &c.bytes); err != nil {
			return fmt.Errorf("-cases %q: must be such as 10+4:512,50+20:512", *cases)
		}
		if c.bytes <<= 20; c.bytes != made {
			if err := b.file(c.bytes); err != nil {
				return err
			}
			made = c.bytes
		}
		if err := b.measure(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) name(base string) string { return filepath.Join(b.dir, base) }

// file makes the file to encode, of random bytes.
func (b *bench) file(bytes int64) error {
	f, err := os.Create(b.name("file"))
	if err != nil {
		return err
	}
	defer f.Close()
	r := rand.NewChaCha8([32]byte{1})
	if _, err := io.CopyN(f, r, bytes); err != nil {
		return err
	}
	return f.Close()
}

// shards is a case.
type shards struct {
	data, parity int
	bytes        int64 // of the file
}

// program is one way to do a task.
type program struct {
	task, by   string
	processors int // 0: all
	do         func(ctx context.Context) error
}

func (b *bench) programs(c shards) []program {
	data, parity := strconv.Itoa(c.data), strconv.Itoa(c.parity)
	rs := func(variant string, processors int, words ...string) func(context.Context) error {
		words = append([]string{"rs"}, words...)
		words = append(words, "--data", data, "--parity", parity)
		if variant != "" {
			words = append(words, "--variant", variant)
		}
		return b.program(processors, b.gemm, words...)
	}
	encode := []string{"encode", "--in", b.name("file"), "--out", b.name("made")}
	protect := []string{"protect", b.name("file"), "--out", b.name("made")}
	all := []program{
		{"encode", "copy", 0, func(context.Context) error { return b.copy(c) }},
		{"encode", "serial/packed", 0, rs("serial/packed", 0, encode...)},
		{"encode", "serial/packed", 1, rs("serial/packed", 1, encode...)},
		{"encode", "parallel/packed", 0, rs("parallel/packed", 0, encode...)},
		{"encode", "default", 0, rs("", 0, encode...)},
	}
	if b.gpu != "" {
		all = append(all, program{"encode", "cuda/tuned", 0, rs("cuda/tuned", 0, encode...)})
	}
	if b.encoder != "" {
		all = append(all, program{"encode", "klauspost/reedsolomon", 0, b.program(0, b.encoder, "-data", data, "-par",
			parity, "-out", b.name("made"), b.name("file"))})
	}
	all = append(all, program{"protect", "serial/packed", 0, rs("serial/packed", 0, protect...)})
	if b.par2 != "" && c.bytes <= b.par2Most {
		all = append(all, program{"protect", "par2", 0, b.program(0, b.par2, "create", "-qq", "-b"+data, "-c"+parity,
			"-n1", "-m8000", "-B", b.dir, b.name("made/par2"), b.name("file"))})
	}
	return all
}

func (b *bench) program(processors int, name string, words ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, name, words...)
		cmd.Env = os.Environ()
		if processors > 0 {
			cmd.Env = append(cmd.Env, "GOMAXPROCS="+strconv.Itoa(processors))
		}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := ipc.Run(cmd, time.Second); err != nil {
			return fmt.Errorf("%s %s: %w: %s", name, strings.Join(words, " "), err, out.String())
		}
		return nil
	}
}

// copy does what no encoder can do without: it reads the file and writes as many bytes as the shards have, into a file
// for each, with a goroutine for each.
func (b *bench) copy(c shards) error {
	in, err := os.Open(b.name("file"))
	if err != nil {
		return err
	}
	defer in.Close()
	payload := (c.bytes-1)/int64(c.data) + 1
	failures := make([]error, c.data+c.parity)
	var work sync.WaitGroup
	for i := range failures {
		work.Go(func() {
			out, err := os.Create(b.name(fmt.Sprintf("made/%d", i)))
			if err != nil {
				failures[i] = err
				return
			}
			part := io.NewSectionReader(in, int64(i%c.data)*payload, payload)
			_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{part}, make([]byte, 1<<20))
			failures[i] = errors.Join(err, out.Close())
		})
	}
	work.Wait()
	return errors.Join(failures...)
}

// slow is how long a sample may take until no second one is taken.
const slow = 10 * time.Second

// measure measures the programs of a case. Before the first case, a round warms up and is not recorded: the
// host of a virtual machine gives it memory at its first use.
func (b *bench) measure(ctx context.Context, c shards) error {
	all := b.programs(c)
	samples := make([][]float64, len(all))
	enough, reasons := make([]bool, len(all)), make([]string, len(all))
	first, doc := 1, b.store.Document()
	if len(doc.Measurements) == 0 {
		first = 0
	}
	for round := first; round <= b.rounds; round++ {
		for i, x := range all {
			if enough[i] {
				continue
			}
			if err := os.MkdirAll(b.name("made"), 0o777); err != nil {
				return err
			}
			start := time.Now()
			err := x.do(ctx)
			took := time.Since(start)
			if err == nil && round == first && x.task == "encode" && strings.Contains(x.by, "/packed") {
				err = b.program(0, b.gemm, "rs", "verify", "--in", b.name("made"))(ctx)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := os.RemoveAll(b.name("made")); err != nil {
				return err
			}
			enough[i] = err != nil || took > slow
			switch {
			case err != nil:
				samples[i], reasons[i] = nil, strings.ReplaceAll(err.Error(), b.dir, "DIR")
				fmt.Fprintln(os.Stderr, "bench:", err)
			case round > 0 || enough[i]:
				samples[i] = append(samples[i], took.Seconds())
			}
			fmt.Fprintf(os.Stderr, "%d+%d, %d MiB: %s by %s (%d): %.3f s\n", c.data, c.parity, c.bytes>>20, x.task,
				x.by, x.processors, took.Seconds())
		}
	}
	found := make([]record.Measurement, len(all))
	for i, x := range all {
		found[i] = record.Measurement{
			Host: doc.Hosts[0].ID, Run: doc.Runs[0].ID, Name: "rs " + x.task, Unit: "s", Samples: samples[i], Reason: reasons[i],
			Params: gemm.Params{"by": x.by, "data": c.data, "parity": c.parity, "bytes": int(c.bytes),
				"processors": cmp.Or(x.processors, doc.Hosts[0].Cores)},
		}
	}
	return b.store.Put(record.Document{Measurements: found})
}
