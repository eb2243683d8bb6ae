package remote

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"gemm"
)

// sharedFile is the number of the file in the program.
const sharedFile = 3

// Shared returns the file that the process that started this program handed down.
func Shared() *os.File { return os.NewFile(sharedFile, "shared memory") }

// memory is a file without a name, of which segments are mapped.
type memory struct {
	file *os.File

	mu       sync.Mutex
	size     int64
	segments map[int64][]byte // by their offsets
}

// newMemory makes an empty file in memory.
func newMemory() (*memory, error) {
	fd, err := unix.MemfdCreate("gemm", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, gemm.Unavailablef("memory that two processes share cannot be made: memfd_create: %w", err).
			WithRemedy("permit this system call, or choose a variant of the processor")
	}
	return &memory{file: os.NewFile(uintptr(fd), "shared memory"), segments: map[int64][]byte{}}, nil
}

// openMemory returns the memory in a file that another process made.
func openMemory(file *os.File) *memory { return &memory{file: file, segments: map[int64][]byte{}} }

// grow adds a segment of zeros to the file and maps it.
func (m *memory) grow(bytes int64) (segment, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	page := int64(os.Getpagesize())
	s := segment{m.size, (bytes + page - 1) / page * page}
	// Pages are taken now: later, a lack of memory would be a signal.
	if err := unix.Fallocate(int(m.file.Fd()), 0, s.At, s.Bytes); err != nil {
		return s, fmt.Errorf("%d MiB of shared memory cannot be had: %w: free memory, or choose smaller operands",
			s.Bytes>>20, err)
	}
	m.size += s.Bytes
	data, err := m.add(s, 0)
	if err == nil {
		touch(data)
	}
	return s, err
}

// touch has the system clear the pages of memory that is new, which several processors do faster than one.
func touch(data []byte) {
	const most = 8
	workers := min(most, runtime.GOMAXPROCS(0))
	page := os.Getpagesize()
	var group sync.WaitGroup
	for i := range workers {
		from, to := len(data)/page*i/workers*page, len(data)/page*(i+1)/workers*page
		group.Go(func() {
			for at := from; at < to; at += page {
				data[at] = 0
			}
		})
	}
	group.Wait()
}

// mapped maps a segment that the other process made.
func (m *memory) mapped(s segment) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	info, err := m.file.Stat()
	if err != nil {
		return nil, err
	}
	if s.At < 0 || s.Bytes <= 0 || s.At > info.Size()-s.Bytes {
		return nil, fmt.Errorf("there are %d bytes of shared memory, the segment is %+v", info.Size(), s)
	}
	if m.segments[s.At] != nil {
		return nil, fmt.Errorf("the segment %+v is mapped already", s)
	}
	return m.add(s, unix.MAP_POPULATE)
}

// add maps a segment.
func (m *memory) add(s segment, how int) ([]byte, error) {
	data, err := unix.Mmap(int(m.file.Fd()), s.At, int(s.Bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|how)
	if err != nil {
		return nil, fmt.Errorf("%d MiB of shared memory cannot be mapped: %w", s.Bytes>>20, err)
	}
	m.segments[s.At] = data
	return data, nil
}

// unmap gives up the mapping of a segment.
func (m *memory) unmap(s segment) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	data := m.segments[s.At]
	if data == nil {
		return fmt.Errorf("the segment %+v is not mapped", s)
	}
	delete(m.segments, s.At)
	return unix.Munmap(data)
}

// drop gives up a segment and its memory, which the other process does not map any more.
func (m *memory) drop(s segment) error {
	if err := m.unmap(s); err != nil {
		return err
	}
	return unix.Fallocate(int(m.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, s.At, s.Bytes)
}

// bytes returns the memory of a segment that is mapped, from an offset in the file on.
func (m *memory) bytes(at, n int64) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for from, data := range m.segments {
		if from <= at && n >= 0 && at-from <= int64(len(data))-n {
			return data[at-from:][:n:n], true
		}
	}
	return nil, false
}

// find returns the offset of memory that lies in a segment.
func (m *memory) find(first unsafe.Pointer, n int64) (at int64, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for from, data := range m.segments {
		begin := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
		if off := uintptr(first) - begin; uintptr(first) >= begin && int64(off) <= int64(len(data))-n {
			return from + int64(off), true
		}
	}
	return 0, false
}

// close unmaps all and closes the file. The memory is free when no process has it.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for at, data := range m.segments {
		_ = unix.Munmap(data)
		delete(m.segments, at)
	}
	_ = m.file.Close()
}
