package tuned

import (
	"cmp"
	"slices"
	"time"
)

// Kernel is the best setting of a kernel on a GPU, for a class of shapes.
type Kernel struct {
	GPU   string `json:"gpu"`   // name of the model in the driver
	Type  string `json:"type"`  // f32, f64
	Rung  string `json:"rung"`  // such as multistage
	Class string `json:"class"` // as in cuda.Class
	Tile  string `json:"tile"`  // as cuda.Tile.Name writes it
	// Stages is the number of slices in shared memory or on their way there; 0: the kernel has no stages.
	Stages int `json:"stages"`
	// Split is the number of parts of k; 0: the kernel does not divide k.
	Split    int       `json:"split"`
	Time     time.Time `json:"time"`     // when it was measured
	Revision string    `json:"revision"` // of the program that measured
}

// Of reports whether both have the same kernel, GPU and class.
func (k Kernel) Of(o Kernel) bool {
	return k.GPU == o.GPU && k.Type == o.Type && k.Rung == o.Rung && k.Class == o.Class
}

// WithKernel returns s with k in place of an entry for the same kernel, GPU and class.
func (s Settings) WithKernel(k Kernel) Settings {
	s = s.WithoutKernel(k)
	s.Kernels = append(s.Kernels, k)
	slices.SortFunc(s.Kernels, func(a, b Kernel) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Rung, b.Rung),
			cmp.Compare(a.Class, b.Class))
	})
	return s
}

// WithoutKernel returns s without an entry for the kernel, GPU and class of k.
func (s Settings) WithoutKernel(k Kernel) Settings {
	s.Kernels = slices.DeleteFunc(slices.Clone(s.Kernels), k.Of)
	return s
}

// ForKernel returns the setting for a rung, element type, model of GPU and class of shapes, and whether there is one.
func ForKernel(gpu, typ, rung, class string) (Kernel, bool) {
	s := InUse()
	i := slices.IndexFunc(s.Kernels, Kernel{GPU: gpu, Type: typ, Rung: rung, Class: class}.Of)
	if i < 0 {
		return Kernel{}, false
	}
	return s.Kernels[i], true
}
