package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"time"

	"gemm/gemmtest"
)

// TestArchives reads archives back, and makes them twice.
func TestArchives(t *testing.T) {
	at := time.Date(2026, 11, 29, 1, 2, 4, 0, time.UTC)
	files := []file{{"gemm", 0o755, bytes.Repeat([]byte("program"), 1000)}, {"LICENSE", 0o644, []byte("BSD")}}
	for _, pack := range []func(string, time.Time, []file) ([]byte, error){tarGz, zipped} {
		data, err := pack("folder", at, files)
		gemmtest.Must(t, err)
		again, err := pack("folder", at.In(time.FixedZone("east", 3600)), files)
		gemmtest.Must(t, err)
		if !bytes.Equal(data, again) {
			t.Error("the same files in another time zone make other bytes")
		}
		for i, got := range unpack(t, data) {
			want := files[i]
			if got.name != "folder/"+want.name || got.mode != want.mode || !bytes.Equal(got.data, want.data) ||
				!got.at.Equal(at) {
				t.Errorf("file %d is %s of mode %o and %v, want %s of mode %o and %v", i, got.name, got.mode, got.at,
					want.name, want.mode, at)
			}
		}
	}
}

type unpacked struct {
	file
	at time.Time
}

func unpack(t *testing.T, data []byte) (files [2]unpacked) {
	t.Helper()
	if compressed, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		r := tar.NewReader(compressed)
		for i := range files {
			h, err := r.Next()
			gemmtest.Must(t, err)
			content, err := io.ReadAll(r)
			gemmtest.Must(t, err)
			files[i] = unpacked{file{h.Name, h.FileInfo().Mode(), content}, h.ModTime}
		}
		return files
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	gemmtest.Must(t, err)
	for i := range files {
		f, err := r.File[i].Open()
		gemmtest.Must(t, err)
		content, err := io.ReadAll(f)
		gemmtest.Must(t, err)
		files[i] = unpacked{file{r.File[i].Name, r.File[i].Mode(), content}, r.File[i].Modified}
	}
	return files
}
