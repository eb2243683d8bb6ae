//go:build cuda

package device

import (
	"context"
	"errors"
	"sync"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"gemm"
)

// ring is pinned host memory, in pieces that are used round robin. Data moves through it from
// ordinary host memory to the device and back.
type ring struct {
	pieces [4]piece
	next   int
	stream cu.Stream
}

type piece struct {
	at   unsafe.Pointer
	done cu.Event // of its last copy
	used bool
}

const pieceBytes = 16 << 20

// rings takes the memory of both rings, unless that has been done.
func (d *Device) rings() (err error) {
	for _, r := range []*ring{&d.up, &d.down} {
		for i := range r.pieces {
			p := &r.pieces[i]
			if p.at != nil {
				continue
			}
			if p.done, err = cu.MakeEvent(cu.DisableTiming); err != nil {
				return failed("cuEventCreate", err)
			}
			if p.at, err = pinned(pieceBytes); err != nil {
				return errors.Join(err, destroyEvent(&p.done))
			}
		}
	}
	return nil
}

// close gives the memory back.
func (r *ring) close() (err error) {
	for i := range r.pieces {
		p := &r.pieces[i]
		if p.at != nil {
			err = errors.Join(err, failed("cuMemFreeHost", cu.MemFreeHost(p.at)), destroyEvent(&p.done))
		}
	}
	return err
}

// take returns the next piece, when its last copy is done.
func (r *ring) take(ctx context.Context, d *Device) (*piece, error) {
	p := &r.pieces[r.next]
	r.next = (r.next + 1) % len(r.pieces)
	if p.used {
		if err := d.wait(ctx, p.done); err != nil {
			return nil, err
		}
	}
	p.used = true
	return p, nil
}

// blocksOf calls f for parts of a matrix whose rows fit into a piece.
func blocksOf(rows, cols, size int, f func(i, j, rows, cols int) error) error {
	width := min(cols, pieceBytes/size)
	for j := 0; j < cols; j += width {
		w := min(width, cols-j)
		height := max(1, pieceBytes/(w*size))
		for i := 0; i < rows; i += height {
			if err := f(i, j, min(height, rows-i), w); err != nil {
				return err
			}
		}
	}
	return nil
}

// copiers is how many goroutines copy between a matrix and a piece of the ring: one does not keep up with the bus.
const copiers = 4

// inParallel calls f for parts of n rows.
func inParallel(n int, f func(from, to int)) {
	var group sync.WaitGroup
	for i := range copiers {
		from, to := i*n/copiers, (i+1)*n/copiers
		if from < to {
			group.Go(func() { f(from, to) })
		}
	}
	group.Wait()
}

// upload starts copies of the matrix to the device. Pinned memory needs no ring.
func upload[T gemm.Element](ctx context.Context, d *Device, to cu.DevicePtr, ld int, m gemm.Matrix[T]) error {
	r, size := &d.up, gemm.TypeOf[T]().Size
	if pins(d, m) {
		return copyRows(nil, to, int64(ld*size), unsafe.Pointer(unsafe.SliceData(m.Data)), 0, int64(m.Stride*size),
			int64(m.Cols*size), int64(m.Rows), r.stream)
	}
	return blocksOf(m.Rows, m.Cols, size, func(i, j, rows, cols int) error {
		p, err := r.take(ctx, d)
		if err != nil {
			return err
		}
		piece := unsafe.Slice((*T)(p.at), rows*cols)
		inParallel(rows, func(from, to int) {
			for row := from; row < to; row++ {
				copy(piece[row*cols:(row+1)*cols], m.Row(i + row)[j:j+cols])
			}
		})
		width := int64(cols * size)
		if err := copyRows(nil, to+cu.DevicePtr((i*ld+j)*size), int64(ld*size), p.at, 0, width, width, int64(rows),
			r.stream); err != nil {
			return err
		}
		return mark(p.done, r.stream)
	})
}

// fetch copies the matrix from the device, and returns when it is there.
func fetch[T gemm.Element](ctx context.Context, d *Device, m gemm.Matrix[T], from cu.DevicePtr, ld int) error {
	if err := download(ctx, d, m, from, ld); err != nil {
		return err
	}
	return d.synchronize(ctx, d.down.stream)
}

// download starts the copy of the matrix from the device to pinned memory. To other memory it copies through the ring,
// and returns when the matrix is there: a part is being copied while the one before is taken out of the ring.
func download[T gemm.Element](ctx context.Context, d *Device, m gemm.Matrix[T], from cu.DevicePtr, ld int) error {
	r, size := &d.down, gemm.TypeOf[T]().Size
	if pins(d, m) {
		return copyRows(unsafe.Pointer(unsafe.SliceData(m.Data)), 0, int64(m.Stride*size), nil, from, int64(ld*size),
			int64(m.Cols*size), int64(m.Rows), r.stream)
	}
	take := func() error { return nil } // the part before
	err := blocksOf(m.Rows, m.Cols, size, func(i, j, rows, cols int) error {
		p, err := r.take(ctx, d)
		if err != nil {
			return err
		}
		width := int64(cols * size)
		if err := copyRows(p.at, 0, width, nil, from+cu.DevicePtr((i*ld+j)*size), int64(ld*size), width, int64(rows),
			r.stream); err != nil {
			return err
		}
		if err := mark(p.done, r.stream); err != nil {
			return err
		}
		if err := take(); err != nil {
			return err
		}
		take = func() error {
			if err := d.wait(ctx, p.done); err != nil {
				return err
			}
			piece := unsafe.Slice((*T)(p.at), rows*cols)
			inParallel(rows, func(from, to int) {
				for row := from; row < to; row++ {
					copy(m.Row(i + row)[j:j+cols], piece[row*cols:(row+1)*cols])
				}
			})
			return nil
		}
		return nil
	})
	return errors.Join(err, take())
}

// copyTime returns the time of the copy alone, between pinned memory and the device.
func (d *Device) copyTime(ctx context.Context, at cu.DevicePtr, bytes int64, up bool) (time.Duration, error) {
	return d.timed(ctx, nil, func() (err error) {
		for done := int64(0); done < bytes && err == nil; done += pieceBytes {
			n := min(pieceBytes, bytes-done)
			p := d.up.pieces[0].at
			if up {
				err = copyRows(nil, at+cu.DevicePtr(done), n, p, 0, n, n, 1, d.stream)
			} else {
				err = copyRows(p, 0, n, nil, at+cu.DevicePtr(done), n, n, 1, d.stream)
			}
		}
		return err
	})
}
