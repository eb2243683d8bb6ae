package shard_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"gemm/shard"
)

// A file is divided into four data shards, with two parity shards. Any two of the six may be lost.
func Example() {
	dir, err := os.MkdirTemp("", "shards")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file, shards := filepath.Join(dir, "file"), filepath.Join(dir, "shards")
	data := bytes.Repeat([]byte("gemm"), 10000)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		log.Fatal(err)
	}

	ctx, coder := context.Background(), &shard.Coder{}
	set, err := coder.Encode(ctx,
		shard.Encoding{File: file, Dir: shards, Data: 4, Parity: 2, Matrix: shard.Vandermonde})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Shards(), "shards of", set.Payload(), "bytes of payload")

	for _, i := range []int{0, 5} {
		if err := os.Remove(filepath.Join(shards, shard.FileName(i))); err != nil {
			log.Fatal(err)
		}
	}
	report, err := coder.Verify(ctx, shards)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("not good:", report.Faulty(), "enough:", report.Enough() == nil)

	restored := filepath.Join(dir, "restored")
	if _, err := coder.Reconstruct(ctx, shard.Reconstruction{Dir: shards, File: restored, Repair: true}); err != nil {
		log.Fatal(err)
	}
	back, err := os.ReadFile(restored)
	fmt.Println("restored:", bytes.Equal(back, data), err)
	// Output:
	// 6 shards of 10000 bytes of payload
	// not good: [0 5] enough: true
	// restored: true <nil>
}

// A file stays as it is; a folder next to it has its parity, from which damage is repaired.
func ExampleCoder_Protect() {
	dir, err := os.MkdirTemp("", "parity")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "file")
	data := bytes.Repeat([]byte("gemm"), 100000)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		log.Fatal(err)
	}

	ctx, coder := context.Background(), &shard.Coder{}
	parity := shard.ParityFolder(file, "")
	if _, err := coder.Protect(ctx,
		shard.Protection{File: file, Dir: parity, Data: 4, Parity: 1, Matrix: shard.Cauchy}); err != nil {
		log.Fatal(err)
	}

	data[1234] = 'x'
	if err := os.WriteFile(file, data, 0o600); err != nil {
		log.Fatal(err)
	}
	report, err := coder.Repair(ctx, shard.Protected{File: file, Dir: parity, Content: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("was:", report.State, report.Bad)
	report, err = coder.Check(ctx, shard.Protected{File: file, Dir: parity})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("is:", report.State)
	// Output:
	// was: damaged [0-65535]
	// is: good
}
