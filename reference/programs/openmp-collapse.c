// C = A·B on several threads by OpenMP: the two outer loops of the order i, k, j are divided as one.
// Threads may have the same i, so each adds its terms to a private copy of C, and at the end adds
// the copy to C with an atomic addition for each element.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef T
#define T double
#endif

// threads sets the number of threads and returns how many a parallel region has then.
int threads(int number) {
    int team = 1;
    omp_set_dynamic(0);
    omp_set_num_threads(number);
#pragma omp parallel
#pragma omp master
    team = omp_get_num_threads();
    return team;
}

// The schedules of schedule(runtime) have their numbers in omp.h, from omp_sched_static, 1, to omp_sched_auto, 4. Two
// more are no schedule: 0 is what schedule(runtime) has if nothing is set, which is the variable run-sched-var; 5 is a
// loop without the clause, which has the schedule in the variable def-sched-var.
enum { standard = 0, without = 5 };
static int requested = standard;

// schedule and chunk set how the loop is divided; a chunk of 0 is the schedule's own. chunk returns the number of the
// schedule that the loop has.
int schedule(int number) { return requested = number; }

int chunk(int size) {
    static omp_sched_t first = 0;
    omp_sched_t kind;
    int used;
    if (requested == without) return without;
    if (!first) omp_get_schedule(&first, &used);
    omp_set_schedule(requested == standard ? first : (omp_sched_t)requested, size);
    omp_get_schedule(&kind, &used);
    return kind & 7; // without the modifier monotonic
}

// add adds the terms of A[i][l] to row i of C.
static inline void add(int n, int k, const T *A, const T *B, T *C, long i, long l) {
    for (long j = 0; j < n; j++) C[i * n + j] += A[i * k + l] * B[l * n + j];
}

void multiply(int m, int n, int k, const T *A, const T *B, T *C) {
    long size = (long)m * n;
#pragma omp parallel
    {
        T *local = calloc(size > 0 ? size : 1, sizeof(T));
        if (!local) {
            fprintf(stderr, "no memory for a private copy of C\n");
            exit(1);
        }
#pragma omp for
        for (long q = 0; q < size; q++) C[q] = 0;

        if (requested == without) {
#pragma omp for collapse(2)
            for (long i = 0; i < m; i++)
                for (long l = 0; l < k; l++) add(n, k, A, B, local, i, l);
        } else {
#pragma omp for collapse(2) schedule(runtime)
            for (long i = 0; i < m; i++)
                for (long l = 0; l < k; l++) add(n, k, A, B, local, i, l);
        }
        for (long q = 0; q < size; q++) {
#pragma omp atomic
            C[q] += local[q];
        }
        free(local);
    }
}
