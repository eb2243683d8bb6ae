package kernel

// Cached returns a call of k on slivers that stay in the first level of cache,
// and the operations that one call does: the rate of the packed product if its
// loops, its packing and its memory cost nothing.
func (k Kernel[T]) Cached() (call func(), flops float64) {
	const kc = 256
	a, b, c := make([]T, kc*k.MR), make([]T, kc*k.NR), make([]T, k.MR*k.NR)
	for i := range a {
		a[i] = 1
	}
	for i := range b {
		b[i] = 1
	}
	return func() { k.Run(kc, a, b, 0, c, k.NR) }, float64(2 * kc * k.MR * k.NR)
}
