/* plain.c: products by loops in C, for forked processes. */
#include <complex.h>

#include "product.h"

#define T float
#define R float
#define CONJ(X) (X)
#define PLAIN plain_s
#include "plain.h"
#define T double
#define R double
#define CONJ(X) (X)
#define PLAIN plain_d
#include "plain.h"
#define T float complex
#define R float
#define CONJ(X) conjf(X)
#define PLAIN plain_c
#include "plain.h"
#define T double complex
#define R double
#define CONJ(X) conj(X)
#define PLAIN plain_z
#include "plain.h"

void product_plain(const struct product *p)
{
	switch (p->element) {
	case 's': plain_s(p); break;
	case 'd': plain_d(p); break;
	case 'c': plain_c(p); break;
	case 'z': plain_z(p); break;
	}
}
