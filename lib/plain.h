/* plain.h: the loops of plain.c for elements of type T with parts of type R. PLAIN is the name of the function.
 * Loops with other names get them by NAME. */
#define JOIN(X, Y) X##_##Y
#define PASTE(X, Y) JOIN(X, Y)
#define NAME(X) PASTE(PLAIN, X)

/* An operand: element (i, j) is at i*row + j*col, or there is its conjugate. If stored is U or L, only that triangle is
 * stored, by rows; the other one is its transpose, or conjugate transpose if is_conj. */
struct NAME(operand) {
	const T *data;
	int64_t row, col;
	int is_conj, stored;
};

static inline T NAME(at)(const struct NAME(operand) *x, int64_t i, int64_t j)
{
	if (x->stored == 0) {
		T e = x->data[i * x->row + j * x->col];
		return x->is_conj ? CONJ(e) : e;
	}
	if (i == j)
		return x->is_conj ? (R)x->data[i * x->row + j] : x->data[i * x->row + j];
	if ((x->stored == 'L') == (i > j))
		return x->data[i * x->row + j];
	return x->is_conj ? CONJ(x->data[j * x->row + i]) : x->data[j * x->row + i];
}

/* NAME(stored) returns op(X) for X by rows. */
static struct NAME(operand) NAME(stored)(const T *data, int64_t ld, int trans)
{
	struct NAME(operand) x = {data, ld, 1, trans == 'C', 0};
	if (trans != 'N')
		x.row = 1, x.col = ld;
	return x;
}

/* NAME(add) adds alpha*X*Y to C in the columns of each row that are in the triangle, all columns without one. */
static void NAME(add)(const struct product *p, T alpha, struct NAME(operand) x, struct NAME(operand) y, int64_t k,
                      int triangle)
{
	for (int64_t i = 0; i < p->m; i++) {
		T *c = (T *)p->c + i * p->ldc;
		const int64_t first = triangle == 'U' ? i : 0, end = triangle == 'L' ? i + 1 : p->n;
		for (int64_t l = 0; l < k; l++) {
			const T factor = alpha * NAME(at)(&x, i, l);
			if (y.stored == 0 && y.col == 1 && !y.is_conj) { /* rows of Y are contiguous */
				const T *row = y.data + l * y.row;
				for (int64_t j = first; j < end; j++)
					c[j] += factor * row[j];
			} else {
				for (int64_t j = first; j < end; j++)
					c[j] += factor * NAME(at)(&y, l, j);
			}
		}
	}
}

/* NAME(triangular) computes trmm or trsm. A product from the right is one from the left of transposes. */
static void NAME(triangular)(const struct product *p)
{
	const int is_left = p->side == 'L', solves = p->family == TRSM, is_transposed = (p->trans_a != 'N') == is_left;
	const int64_t row = is_left ? p->ldb : 1, col = is_left ? 1 : p->ldb, n = is_left ? p->n : p->m, k = p->k;
	struct NAME(operand) a = NAME(stored)(p->a, p->lda, p->trans_a);
	if (!is_left) {
		const int64_t kept = a.row;
		a.row = a.col, a.col = kept;
	}
	const int is_upper = (p->uplo == 'U') != is_transposed, is_unit = p->diag == 'U';
	const int up = is_upper == solves; /* rows of the result from the last to the first */
	const T alpha = *(const T *)p->alpha;
	for (int64_t step = 0; step < k; step++) {
		const int64_t i = up ? k - 1 - step : step;
		for (int64_t j = 0; j < n; j++) {
			T *b = (T *)p->b + j * col, x = solves ? alpha * b[i * row] : is_unit ? b[i * row] : NAME(at)(&a, i, i) * b[i * row];
			for (int64_t l = is_upper ? i + 1 : 0; l < (is_upper ? k : i); l++)
				x += (solves ? -NAME(at)(&a, i, l) : NAME(at)(&a, i, l)) * b[l * row];
			b[i * row] = !solves ? alpha * x : is_unit ? x : x / NAME(at)(&a, i, i);
		}
	}
}

static void PLAIN(const struct product *p)
{
	const enum family f = p->family;
	if (f & TRIANGULAR) {
		NAME(triangular)(p);
		return;
	}
	const int is_hermitian = (f & (HEMM | HERMITIAN)) != 0, triangle = f & (GEMM | SIDED) ? 0 : p->uplo;
	const T beta = f & HERMITIAN ? *(const R *)p->beta : *(const T *)p->beta;
	if (p->k == 0 && beta == 1) /* as in the reference, C is not even made Hermitian */
		return;
	for (int64_t i = 0; i < p->m; i++)
		for (int64_t j = triangle == 'U' ? i : 0; j < (triangle == 'L' ? i + 1 : p->n); j++) {
			T *c = (T *)p->c + i * p->ldc + j;
			if (f & HERMITIAN && i == j)
				*c = (R)*c;
			*c = beta == 0 ? 0 : beta * *c;
		}
	if (p->k == 0)
		return;
	const T alpha = f == HERK ? *(const R *)p->alpha : *(const T *)p->alpha;
	const int back = p->trans_a != 'N' ? 'N' : is_hermitian ? 'C' : 'T';
	struct NAME(operand) a = NAME(stored)(p->a, p->lda, p->trans_a), b = NAME(stored)(p->b, p->ldb, p->trans_b);
	if (f & SIDED)
		a = (struct NAME(operand)){p->a, p->lda, 1, is_hermitian, p->uplo};
	else if (f & (SYRK | HERK))
		b = NAME(stored)(p->a, p->lda, back);
	else if (f & (SYR2K | HER2K))
		b = NAME(stored)(p->b, p->ldb, back);
	if (f & SIDED && p->side == 'R')
		NAME(add)(p, alpha, b, a, p->k, triangle);
	else
		NAME(add)(p, alpha, a, b, p->k, triangle);
	if (f & (SYR2K | HER2K))
		NAME(add)(p, is_hermitian ? CONJ(alpha) : alpha, NAME(stored)(p->b, p->ldb, p->trans_a),
		          NAME(stored)(p->a, p->lda, back), p->k, triangle);
	for (int64_t i = 0; f & HERMITIAN && i < p->m; i++) {
		T *c = (T *)p->c + i * p->ldc + i;
		*c = (R)*c;
	}
}

#undef T
#undef R
#undef CONJ
#undef PLAIN
#undef JOIN
#undef PASTE
#undef NAME
