/* mpirun -n P matmul M N K A B C: rank 0 reads A and B and writes C, by rows; each rank multiplies rows of A by B. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void file(const char *name, const char *mode, double *x, size_t count) {
    FILE *f = fopen(name, mode);
    if (!f || (*mode == 'r' ? fread(x, sizeof *x, count, f) : fwrite(x, sizeof *x, count, f)) != count || fclose(f)) {
        perror(name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]);
    int *A_count = calloc(4 * ranks, sizeof(int)), *A_at = A_count + ranks, *C_count = A_at + ranks, *C_at = C_count + ranks;
    for (int r = 0; r < ranks; r++) { /* the first m % ranks ranks have one row more */
        const int rows = m / ranks + (r < m % ranks), first = r * (m / ranks) + (r < m % ranks ? r : m % ranks);
        A_count[r] = rows * k, A_at[r] = first * k, C_count[r] = rows * n, C_at[r] = first * n;
    }
    double *A = malloc(8L * m * k), *B = malloc(8L * k * n), *C = malloc(8L * m * n);
    double *a = malloc(8L * A_count[rank]), *c = calloc(C_count[rank] + 1, 8);
    if (rank == 0) file(argv[4], "r", A, (size_t)m * k), file(argv[5], "r", B, (size_t)k * n);
    MPI_Scatterv(A, A_count, A_at, MPI_DOUBLE, a, A_count[rank], MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(B, k * n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < C_count[rank] / n; i++)
        for (int p = 0; p < k; p++)
            for (int j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * B[p * n + j];
    MPI_Gatherv(c, C_count[rank], MPI_DOUBLE, C, C_count, C_at, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) file(argv[6], "w", C, (size_t)m * n);
    MPI_Finalize();
}
