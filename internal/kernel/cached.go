package kernel

// Cached returns a call of k on operands that stay in L1, and the number of operations of a call.
// Its rate is the rate of the packed product if loops, packing and memory cost nothing.
func (k *Kernel[T]) Cached() (call func(), flops float64) {
	const times = 32 // so that reading the clock does not count
	once, flops := k.Resident(64, k.NR)
	return func() {
		for range times {
			once()
		}
	}, times * flops
}

// Resident is Cached with a block of B in L2, of the given depth and number of columns. Its rate is
// the rate of the packed product if everything else costs nothing.
func (k *Kernel[T]) Resident(depth, n int) (call func(), flops float64) {
	n = (n + k.NR - 1) / k.NR * k.NR
	a, b, c := make([]T, depth*k.MR), make([]T, depth*n), make([]T, k.MR*n)
	for i := range a {
		a[i] = 1
	}
	for i := range b {
		b[i] = 1
	}
	t := &Tiles[T]{N: n, K: depth, A: a, ARow: 1, ACol: k.MR, B: b, BRow: k.NR, BNext: k.NR * depth, C: c,
		LDC: n, Alpha: 1}
	return func() { k.Run(k.MR, t) }, float64(2 * depth * k.MR * n)
}
