/* Wrong unless the ranks divide M: the last rows of A are sent to no rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]), rows = m / ranks;
    double *A = malloc(8L * m * k), *B = malloc(8L * k * n), *C = calloc(m * n, 8);
    double *a = malloc(8L * rows * k), *c = calloc(rows * n + 1, 8);
    if (rank == 0) {
        FILE *f = fopen(argv[4], "r"), *g = fopen(argv[5], "r");
        if (fread(A, 8, m * k, f) + fread(B, 8, k * n, g) != (size_t)(m * k + k * n)) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Scatter(A, rows * k, MPI_DOUBLE, a, rows * k, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(B, k * n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < rows; i++)
        for (int p = 0; p < k; p++)
            for (int j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * B[p * n + j];
    MPI_Gather(c, rows * n, MPI_DOUBLE, C, rows * n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *f = fopen(argv[6], "w");
        fwrite(C, 8, m * n, f);
        fclose(f);
    }
    MPI_Finalize();
    return 0;
}
