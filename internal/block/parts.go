package block

// Parts returns calls that execute two parts of an n×n×n product alone: the packing, and the
// reading and writing of C. flops is the number of operations of the whole product. So the rate of
// a part is the rate that the product would have if all the rest took no time.
func (e *Engine[T]) Parts(n int) (packing, update func(), flops float64) {
	ones := make([]T, n*n)
	for i := range ones {
		ones[i] = 1
	}
	x, c := View[T]{ones, n, 1}, make([]T, n*n)
	p := e.Plan(n, n, n, x, x)
	own := e.take() // never given back
	w := &own.workers[0]
	t := &w.tiles
	own.a = grown(own.a, up(p.MC, e.kernel.MR)*p.KC)
	w.b = grown(w.b, up(p.NC, e.kernel.NR)*p.KC)
	packing = func() {
		for pc := 0; pc < n; pc += p.KC {
			kc := min(p.KC, n-pc)
			for ic := 0; p.PackA && ic < n; ic += p.MC {
				g := job[T]{m: min(p.MC, n-ic), k: kc, a: x.from(ic, pc), plan: p}
				for chunk := range (g.m + p.Rows - 1) / p.Rows {
					own.packChunk(&g, chunk)
				}
			}
			for jc := 0; p.PackB && jc < n; jc += p.NC {
				e.packBlock(w.b, x.from(pc, jc), kc, min(p.NC, n-jc))
			}
		}
	}
	update = func() {
		for range (n + p.KC - 1) / p.KC {
			for jc := 0; jc < n; jc += p.NC {
				t.N, t.K, t.C, t.LDC, t.Alpha, t.Beta = min(p.NC, n-jc), 0, c[jc:], n, 1, 1
				e.kernel.Run(n, t)
			}
		}
	}
	return packing, update, 2 * float64(n) * float64(n) * float64(n)
}
