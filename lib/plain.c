/* plain.c: products by loops in C, for forked processes and for products that only scale C. */
#include "product.h"

#define T float
#define PLAIN plain_float
#include "plain.inc"
#undef T
#undef PLAIN
#define T double
#define PLAIN plain_double
#include "plain.inc"

void product_plain(const struct product *p)
{
	if (p->is_float)
		plain_float(p);
	else
		plain_double(p);
}
