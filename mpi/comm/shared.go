package comm

import (
	"slices"
	"unsafe"
)

// Shared is memory that the ranks of one host have in common, a part of it each rank's.
type Shared struct {
	window
	parts []unsafe.Pointer // by rank, as this process has them mapped
	own   reach
}

// At returns where the part of a rank begins.
func (s *Shared) At(rank int) unsafe.Pointer { return s.parts[rank] }

// reach is a range of addresses.
type reach struct{ from, to uintptr }

// mapped are the parts of this process that are in use: what lies there is not Go's.
var mapped []reach

// foreign reports whether the memory is not Go's.
func foreign(at unsafe.Pointer) bool {
	return slices.ContainsFunc(mapped, func(r reach) bool { return uintptr(at) >= r.from && uintptr(at) < r.to })
}

// Share takes memory in common with the other ranks of c, all of which are on one host and
// make the same call: so many bytes of it are this rank's. The error is the same on all.
func (c *Comm) Share(bytes int) (*Shared, error) {
	s := &Shared{parts: make([]unsafe.Pointer, c.size)}
	if err := c.share(bytes, s); err != nil {
		return nil, err
	}
	from := uintptr(s.parts[c.rank])
	s.own = reach{from, from + uintptr(bytes)}
	mapped = append(mapped, s.own)
	return s, nil
}

// Free gives the memory back; all ranks that share it call it, and none uses it any more.
func (s *Shared) Free() error {
	if s == nil {
		return nil
	}
	mapped = slices.DeleteFunc(mapped, func(r reach) bool { return r == s.own })
	return s.free()
}
