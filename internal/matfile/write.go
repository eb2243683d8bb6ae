package matfile

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"gemm"
	"gemm/internal/output"
)

// Writable returns an error if Write could not write name. It checks that the extension is known, that an
// existing file is a regular file that may be written, and that the folder exists and is writable.
func Writable(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return output.Writable(name, false)
}

// Write writes m to the file called name, in the format that its extension selects. The new file replaces
// the old one when it is complete and on disk. After an error, or if ctx ends before the last element
// is written, the old file is unchanged.
func Write[T gemm.Element](ctx context.Context, name string, m gemm.Matrix[T]) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := m.Check(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	output.Sweep(name)
	p, err := output.Create(name, output.Permissions, false)
	if err != nil {
		return err
	}
	defer p.Discard()
	w := bufio.NewWriterSize(interruptibleWriter{ctx, p}, 1<<16)
	switch extension(name) {
	case ".npy":
		err = writeNPY(w, m)
	case ".mtx":
		err = writeMTX(w, m)
	default:
		err = writeCSV(w, m)
	}
	if err == nil {
		err = p.Commit()
	}
	return output.Unwritable(name, err)
}

// interruptibleWriter is a Writer that returns the error of ctx once ctx has ended.
type interruptibleWriter struct {
	ctx context.Context
	io.Writer
}

func (w interruptibleWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
