// Command dist builds gemm for several systems and packs each program, with its licence, into an archive: .zip for
// Windows, .tar.gz for others. SHA256SUMS has their sums. One revision and one Go make the same bytes anywhere.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gemm/internal/ipc"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// file is a file of an archive.
type file struct {
	name string
	mode os.FileMode
	data []byte
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	out := flags.String("out", "bin/dist", "the folder, which is made anew")
	if err := flags.Parse(args); err != nil {
		return err
	}
	licence, err := os.ReadFile("LICENSE")
	if err = errors.Join(err, os.RemoveAll(*out), os.MkdirAll(*out, 0o755)); err != nil {
		return err
	}
	var sums strings.Builder
	for _, system := range flags.Args() {
		p, err := build(ctx, system)
		if err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
		name := "gemm-" + p.version + "-" + strings.ReplaceAll(system, "/", "-")
		pack, ending := tarGz, ".tar.gz"
		if strings.HasPrefix(system, "windows/") {
			pack, ending = zipped, ".zip"
		}
		data, err := pack(name, p.time, []file{p.file, {"LICENSE", 0o644, licence}})
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name+ending)
		if err := os.WriteFile(filepath.Join(*out, name+ending), data, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(stdout, filepath.Join(*out, name+ending))
	}
	return os.WriteFile(filepath.Join(*out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// program is gemm for a system, with the version and the time of the revision that it was built from.
type program struct {
	file
	version string
	time    time.Time
}

func build(ctx context.Context, system string) (p program, err error) {
	goos, goarch, _ := strings.Cut(system, "/")
	dir, err := os.MkdirTemp("", "dist")
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p.file = file{name: "gemm", mode: 0o755}
	if goos == "windows" {
		p.name += ".exe"
	}
	made := filepath.Join(dir, p.name)
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("GO"), "go"), "build", "-trimpath", "-buildvcs=true", "-ldflags=-s",
		"-o", made, "./cmd/gemm")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := ipc.Run(cmd, time.Second); err != nil {
		return p, err
	}
	if p.data, err = os.ReadFile(made); err != nil {
		return p, err
	}
	info, err := buildinfo.ReadFile(made)
	if err != nil {
		return p, err
	}
	p.version = info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			p.time, err = time.Parse(time.RFC3339, s.Value)
		}
	}
	if p.time.IsZero() {
		err = errors.Join(err, errors.New("the revision is not known: it needs git and a clone, not a worktree"))
	}
	return p, err
}

// tarGz returns the files in a folder as an archive of tar.
func tarGz(folder string, at time.Time, files []file) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, f := range files {
		h := &tar.Header{Name: folder + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: at}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := errors.Join(w.Close(), compressed.Close())
	return out.Bytes(), err
}

// zipped is tarGz for Windows.
func zipped(folder string, at time.Time, files []file) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at.UTC()}
		h.SetMode(f.mode)
		part, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
