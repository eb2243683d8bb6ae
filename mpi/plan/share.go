package plan

// Share is what one worker is given, in elements of A and B, and computes, in additions
// and multiplications.
type Share struct{ Data, Work float64 }

// RowShare returns the share of each of W workers that have M/W rows of A and all of B:
//
//	Data = MK/W + KN    Work = 2MNK/W
//
// These are equations 2 and 3 of the 2024 report, whose A is M×N, B is N×K and W is
// P − 1.
func RowShare(s Shape, workers int) Share {
	m, n, k, w := float64(s.M), float64(s.N), float64(s.K), float64(workers)
	return Share{m*k/w + k*n, 2 * m * n * k / w}
}

// BlockShare returns the share of each worker of a p×q grid, with M/p rows of A and N/q
// columns of B:
//
//	Data = MK/p + KN/q    Work = 2MNK/(pq)
//
// These are equations 4 and 5 of the report.
func BlockShare(s Shape, g Grid) Share {
	m, n, k, p, q := float64(s.M), float64(s.N), float64(s.K), float64(g.P), float64(g.Q)
	return Share{m*k/p + k*n/q, 2 * m * n * k / (p * q)}
}

// BlocksWin says that blocks on the grid need less data than rows for as many workers.
//
// The report has it so unless p = P − 1 and q = 1, its condition 6, for which the two are
// the same. But with q > 1 blocks trade rows of A for columns of B, and
//
//	MK/p + KN/q < MK/(pq) + KN    is    M/p < N
//
// as the difference is K·(1 − 1/q)·(M/p − N). So condition 6 is enough only where
// M < pN: a tall A on a grid of few rows needs less as rows.
func BlocksWin(s Shape, g Grid) bool {
	return s.K > 0 && g.Q > 1 && area(s.N, g.P) > int64(s.M)
}
