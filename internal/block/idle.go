package block

import (
	"sync"
	"sync/atomic"
)

// Idle holds workspaces that no product uses. It keeps one forever, so that a series of products allocates nothing. If
// products at the same time have needed more, the others go to a sync.Pool, which frees them. The zero value is empty.
type Idle[W any] struct {
	kept atomic.Pointer[W]
	more sync.Pool
}

// Take returns a workspace, or nil if there is none. The caller owns it until Give.
func (i *Idle[W]) Take() *W {
	if w := i.kept.Swap(nil); w != nil {
		return w
	}
	w, _ := i.more.Get().(*W)
	return w
}

// Give makes the workspace idle.
func (i *Idle[W]) Give(w *W) {
	if !i.kept.CompareAndSwap(nil, w) {
		i.more.Put(w)
	}
}
