/* plain.c: products by loops in C, for forked processes. */
#include <complex.h>
#include <math.h>
#include <string.h>

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

static float float_of(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static uint32_t bits_of(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits;
}

/* widen returns an element in half precision as a float. */
static float widen(char element, uint16_t x)
{
	if (element == 'b')
		return float_of((uint32_t)x << 16);
	uint32_t sign = (uint32_t)(x & 0x8000) << 16;
	float scaled = float_of((uint32_t)(x & 0x7fff) << 13) * 0x1p112f; /* the exponents have another bias */
	/* 65536 and more: infinity and NaN */
	return float_of(sign | bits_of(scaled) | (scaled >= 0x1p16f ? 0x7f800000 : 0));
}

/* narrow returns x rounded to nearest, ties to even. */
static uint16_t narrow(char element, float x)
{
	uint32_t bits = bits_of(fabsf(x)), sign = signbit(x) ? 0x8000 : 0;
	if (element == 'b')
		bits = isnan(x) ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	else if (isnan(x))
		bits = 0x7e00;
	else if (fabsf(x) >= 65520) /* half of a unit above the largest number */
		bits = 0x7c00;
	else if (fabsf(x) < 0x1p-14f) /* subnormal: 0.5 has the last place of these numbers, 2^-24 */
		bits = bits_of(fabsf(x) + 0.5f) - bits_of(0.5f);
	else
		bits = (bits - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
	return (uint16_t)(sign | bits);
}

/* plain_half computes a product in half precision, with alpha = 1 and beta = 0. An element of C is rounded once. */
static void plain_half(const struct product *p)
{
	const uint16_t *a = p->a, *b = p->b;
	const int64_t ai = p->trans_a != 'N' ? 1 : p->lda, al = p->trans_a != 'N' ? p->lda : 1;
	const int64_t bl = p->trans_b != 'N' ? 1 : p->ldb, bj = p->trans_b != 'N' ? p->ldb : 1;

	for (int64_t i = 0; i < p->m; i++) {
		for (int64_t j = 0; j < p->n; j++) {
			float sum = 0;
			for (int64_t l = 0; l < p->k; l++)
				sum += widen(p->element, a[i * ai + l * al]) * widen(p->element, b[l * bl + j * bj]);
			((uint16_t *)p->c)[i * p->ldc + j] = narrow(p->element, sum);
		}
	}
}

void product_plain(const struct product *p)
{
	switch (p->element) {
	case 's': plain_s(p); break;
	case 'd': plain_d(p); break;
	case 'c': plain_c(p); break;
	case 'z': plain_z(p); break;
	default: plain_half(p);
	}
}
