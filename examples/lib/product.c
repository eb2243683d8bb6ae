/* The product of two matrices by gemm.h, and the names of what could have computed it.
 *
 *     cc examples/lib/product.c -Ilib -Lbin/lib -lgemm -Wl,-rpath,$PWD/bin/lib -o product */
#include <stdio.h>

#include "gemm.h"

int main(void)
{
	const double a[2 * 3] = {1, 2, 3, 4, 5, 6};       /* 2 x 3, by rows */
	const double b[3 * 2] = {7, 8, 9, 10, 11, 12};    /* 3 x 2 */
	double c[2 * 2];                                  /* beta is 0: it need not be initialised */

	/* NULL: the fastest variant; 0: all processors. */
	if (gemm_dgemm(NULL, 0, GEMM_ROW_MAJOR, GEMM_NO_TRANS, GEMM_NO_TRANS, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2) != GEMM_OK) {
		fprintf(stderr, "%s\n", gemm_error());
		return 1;
	}
	printf("%g %g\n%g %g\n", c[0], c[1], c[2], c[3]);

	/* An error is a code and a text. */
	if (gemm_dgemm("serial/quick", 0, GEMM_ROW_MAJOR, GEMM_NO_TRANS, GEMM_NO_TRANS, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2) ==
	    GEMM_ERR_VARIANT)
		printf("%.40s...\n", gemm_error());
	printf("%.30s...\n", gemm_variants());
	return 0;
}
