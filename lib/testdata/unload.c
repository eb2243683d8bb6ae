/* unload.c: loads libgemm, computes a product, unloads it and exits, twice. The argument is its file. */
#include <dlfcn.h>
#include <stdio.h>

#include "gemm.h"

int main(int argc, char **argv)
{
	const double a[4] = {1, 2, 3, 4};
	double c[4];
	for (int i = 0; i < 2 && argc > 1; i++) {
		void *library = dlopen(argv[1], RTLD_NOW);
		__typeof__(gemm_dgemm) *dgemm = library == NULL ? NULL : (__typeof__(gemm_dgemm) *)dlsym(library, "gemm_dgemm");
		if (dgemm == NULL) {
			puts(dlerror());
			return 1;
		}
		if (dgemm(NULL, 0, GEMM_ROW_MAJOR, GEMM_NO_TRANS, GEMM_NO_TRANS, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2) != GEMM_OK ||
		    c[0] != 7 || c[1] != 10 || c[2] != 15 || c[3] != 22) {
			puts("the product is wrong");
			return 1;
		}
		dlclose(library);
	}
	return 0;
}
