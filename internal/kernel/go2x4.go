package kernel

import "unsafe"

// portable returns the kernel in portable Go.
func portable[T Float]() Kernel[T] {
	return Kernel[T]{
		Name: "go-2x4", MR: 2, NR: 4, Lanes: 1, Few: 4 * 4 * 4, together: 1,
		run: func(t *byte) { portableTiles((*Tiles[T])(unsafe.Pointer(t))) },
		Small: func(m, n, k int, a *T, aRow, aCol int, b *T, bRow int, c *T, ldc int, alpha, beta T) {
			dots(m, n, k, alpha, unsafe.Slice(a, (m-1)*aRow+(k-1)*aCol+1), aRow, aCol,
				unsafe.Slice(b, (k-1)*bRow+n), bRow, beta, unsafe.Slice(c, (m-1)*ldc+n), ldc)
		},
		column: func(m, k int, alpha T, a []T, aRow int, x []T, beta T, c []T, ldc int) {
			dots(m, 1, k, alpha, a, aRow, 1, x, 1, beta, c, ldc)
		},
		copy: func(rows, cols int, dst []T, ldd int, src []T, lds int) {
			for i := range rows {
				copy(dst[i*ldd:][:cols], src[i*lds:])
			}
		},
		split: splitBy[T](4),
		transpose: func(rows, cols int, dst []T, ldd int, src []T, lds int) {
			for i := range rows {
				for l, x := range src[i*lds:][:cols] {
					dst[l*ldd+i] = x
				}
			}
		},
		add: func(rows, cols int, dst []T, ldd int, x []T, ldx int, alpha T, y []T, ldy int) {
			for i := range rows {
				to, from, also := dst[i*ldd:][:cols], x[i*ldx:][:cols], y[i*ldy:][:cols]
				for j := range to {
					to[j] = from[j] + alpha*also[j]
				}
			}
		},
	}
}

// splitBy returns the Split into slivers of nr columns.
func splitBy[T Float](nr int) Split[T] {
	return func(rows, slivers int, dst []T, next int, src []T, lds int) {
		for i := range rows {
			for s := range slivers {
				copy(dst[s*next+i*nr:][:nr], src[i*lds+s*nr:])
			}
		}
	}
}

// portableTiles computes tiles: go2x4 if they are full and packed, otherwise dots.
func portableTiles[T Float](t *Tiles[T]) {
	a, c := t.A, t.C
	for s := range t.Slivers {
		height := t.Height
		if s >= t.Taller {
			height--
		}
		packed := height == 2 && t.ARow == 1 && t.ACol == 2 && t.BRow == 4
		for j := 0; j < t.N; j += 4 {
			b, n := t.B[j/4*t.BNext:], min(4, t.N-j)
			if packed && n == 4 {
				go2x4(t.K, t.Alpha, a, b, t.Beta, c[j:], t.LDC)
			} else {
				dots(height, n, t.K, t.Alpha, a, t.ARow, t.ACol, b, t.BRow, t.Beta, c[j:], t.LDC)
			}
		}
		if s+1 < t.Slivers {
			step := t.ANext
			if step == 0 {
				step = height * t.ARow
			}
			a, c = a[step:], c[height*t.LDC:]
		}
	}
}

// dots computes a tile of m×n, one element at a time.
func dots[T Float](m, n, k int, alpha T, a []T, aRow, aCol int, b []T, bRow int, beta T, c []T, ldc int) {
	for i := range m {
		for j := range n {
			var sum T
			for l := range k {
				sum += a[i*aRow+l*aCol] * b[l*bRow+j]
			}
			if beta == 0 {
				c[i*ldc+j] = alpha * sum
			} else {
				c[i*ldc+j] = alpha*sum + beta*c[i*ldc+j]
			}
		}
	}
}

// go2x4 computes one full tile from packed slivers. It equals
//
//	for l := range kc {
//		for i := range 2 {
//			for j := range 4 {
//				sum[i][j] += a[2*l+i] * b[4*l+j]
//			}
//		}
//	}
//
// and then C ← α·sum + β·C.
//
// Register plan: eight sums, two elements of A and one of B, in the sixteen floating-point registers of
// amd64. Two multiply-adds per cycle with a latency of four cycles need eight sums. 2×4 is also the
// largest tile that the compiler keeps in registers: without fused multiply-add each product takes a
// register too, and 3×4 and 4×4 spill and reach two thirds of the speed. Four steps of l share the
// overhead of one loop iteration. The conversion of slices to arrays leaves one bounds check per
// iteration.
func go2x4[T Float](kc int, alpha T, a, b []T, beta T, c []T, ldc int) {
	a, b = a[:2*kc], b[:4*kc]
	c0 := (*[4]T)(c)
	c1 := (*[4]T)(c[ldc:])
	var s00, s01, s02, s03, s10, s11, s12, s13 T
	for len(a) >= 8 && len(b) >= 16 {
		p, q := (*[8]T)(a), (*[16]T)(b)
		x, y := p[0], p[1]
		z := q[0]
		s00 += x * z
		s10 += y * z
		z = q[1]
		s01 += x * z
		s11 += y * z
		z = q[2]
		s02 += x * z
		s12 += y * z
		z = q[3]
		s03 += x * z
		s13 += y * z
		x, y = p[2], p[3]
		z = q[4]
		s00 += x * z
		s10 += y * z
		z = q[5]
		s01 += x * z
		s11 += y * z
		z = q[6]
		s02 += x * z
		s12 += y * z
		z = q[7]
		s03 += x * z
		s13 += y * z
		x, y = p[4], p[5]
		z = q[8]
		s00 += x * z
		s10 += y * z
		z = q[9]
		s01 += x * z
		s11 += y * z
		z = q[10]
		s02 += x * z
		s12 += y * z
		z = q[11]
		s03 += x * z
		s13 += y * z
		x, y = p[6], p[7]
		z = q[12]
		s00 += x * z
		s10 += y * z
		z = q[13]
		s01 += x * z
		s11 += y * z
		z = q[14]
		s02 += x * z
		s12 += y * z
		z = q[15]
		s03 += x * z
		s13 += y * z
		a, b = a[8:], b[16:]
	}
	for len(a) >= 2 && len(b) >= 4 {
		p, q := (*[2]T)(a), (*[4]T)(b)
		x, y := p[0], p[1]
		s00 += x * q[0]
		s10 += y * q[0]
		s01 += x * q[1]
		s11 += y * q[1]
		s02 += x * q[2]
		s12 += y * q[2]
		s03 += x * q[3]
		s13 += y * q[3]
		a, b = a[2:], b[4:]
	}
	if beta == 0 {
		*c0 = [4]T{alpha * s00, alpha * s01, alpha * s02, alpha * s03}
		*c1 = [4]T{alpha * s10, alpha * s11, alpha * s12, alpha * s13}
		return
	}
	*c0 = [4]T{alpha*s00 + beta*c0[0], alpha*s01 + beta*c0[1], alpha*s02 + beta*c0[2], alpha*s03 + beta*c0[3]}
	*c1 = [4]T{alpha*s10 + beta*c1[0], alpha*s11 + beta*c1[1], alpha*s12 + beta*c1[2], alpha*s13 + beta*c1[3]}
}
