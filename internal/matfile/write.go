package matfile

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"gemm"
	"gemm/internal/output"
)

// Writable returns an error unless Write can be expected to write name: the
// extension is known, what exists already is a file and no device, and the
// folder is there and can be written to.
func Writable(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return output.Writable(name)
}

// Write writes m to the file called name, in the format that its extension says.
// The file is replaced when the new one is whole and on the disk; an error leaves
// what was there, and so does the end of ctx before the last element is written.
func Write[T gemm.Element](ctx context.Context, name string, m gemm.Matrix[T]) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := m.Check(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	output.Sweep(name)
	p, err := output.Create(name, output.Permissions)
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

// Write implements io.Writer.
func (w interruptibleWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
