package tuned

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Kernel is the best setting of a kernel on a GPU, for a class of shapes.
type Kernel struct {
	GPU   string `json:"gpu"`   // name of the model in the driver
	Type  string `json:"type"`  // f32, f64
	Rung  string `json:"rung"`  // such as warptile
	Class string `json:"class"` // as in cuda.Class
	Tile  string `json:"tile"`  // as cuda.Tile.Name writes it
	// Stages is the number of slices in shared memory or on their way there; 0: the kernel has no stages.
	Stages int `json:"stages"`
	// Split is the number of parts of k; 0: the kernel does not divide k.
	Split    int       `json:"split"`
	Time     time.Time `json:"time"`     // when it was measured
	Revision string    `json:"revision"` // of the program that measured
}

// The limits of the numbers are those of the parameters of the family cuda.
const (
	maxStages = 16
	maxSplit  = 64
)

// tile matches a Tile: two or three numbers of a block, and two numbers each of a warp and of a thread.
var tile = regexp.MustCompile(`^[1-9][0-9]{0,3}x[1-9][0-9]{0,3}(x[1-9][0-9]{0,3})?(/[1-9][0-9]{0,3}x[1-9][0-9]{0,3}){0,2}$`)

// check returns the first invalid value of k. It does not know the kernel.
func (k Kernel) check() error {
	if k.Type != "f32" && k.Type != "f64" {
		return fmt.Errorf("the type %q of a kernel is neither f32 nor f64", k.Type)
	}
	for _, name := range []struct{ what, text string }{{"GPU", k.GPU}, {"rung", k.Rung}, {"class", k.Class}} {
		if name.text == "" {
			return fmt.Errorf("a kernel of %s names no %s", k.Type, name.what)
		}
	}
	switch {
	case !tile.MatchString(k.Tile):
		return fmt.Errorf("the tile of %s in %s is %q, must be one such as 128x128x8/32x64/8x8", k.Rung, k.Type, k.Tile)
	case k.Stages < 0 || k.Stages > maxStages:
		return fmt.Errorf("the stages of %s in %s are %d, there can be 0 to %d", k.Rung, k.Type, k.Stages, maxStages)
	case k.Split < 0 || k.Split > maxSplit:
		return fmt.Errorf("the split of %s in %s is %d, it can be 0 to %d", k.Rung, k.Type, k.Split, maxSplit)
	}
	return nil
}

// of reports whether both have the same kernel, GPU and class.
func (k Kernel) of(o Kernel) bool {
	return k.GPU == o.GPU && k.Type == o.Type && k.Rung == o.Rung && k.Class == o.Class
}

// checkKernels returns the first invalid value of the kernels in s.
func (s Settings) checkKernels() error {
	for i, k := range s.Kernels {
		if err := k.check(); err != nil {
			return err
		}
		if slices.IndexFunc(s.Kernels, k.of) != i {
			return fmt.Errorf("it has %s in %s on %s for the class %s twice", k.Rung, k.Type, k.GPU, k.Class)
		}
	}
	return nil
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
	s.Kernels = slices.DeleteFunc(slices.Clone(s.Kernels), k.of)
	return s
}

// ForKernel returns the setting for a rung, element type, model of GPU and class of shapes, and
// whether there is one.
func ForKernel(gpu, typ, rung, class string) (Kernel, bool) {
	s := InUse()
	i := slices.IndexFunc(s.Kernels, Kernel{GPU: gpu, Type: typ, Rung: rung, Class: class}.of)
	if i < 0 {
		return Kernel{}, false
	}
	return s.Kernels[i], true
}
