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

// schedules has the schedules in the order of their numbers, after 0, the one that schedule(runtime)
// has if nothing is set.
static const omp_sched_t schedules[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided};
static omp_sched_t kind = omp_sched_static;

// schedule and chunk set how the loop is divided; a chunk of 0 is the schedule's own.
int schedule(int number) {
    static omp_sched_t standard;
    static int known = 0;
    int size;
    if (!known) omp_get_schedule(&standard, &size);
    known = 1;
    kind = number == 0 ? standard : schedules[number - 1];
    return number;
}

int chunk(int size) {
    omp_set_schedule(kind, size);
    return size;
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

#pragma omp for collapse(2) schedule(runtime)
        for (long i = 0; i < m; i++) {
            for (long l = 0; l < k; l++) {
                for (long j = 0; j < n; j++) {
                    local[i * n + j] += A[i * k + l] * B[l * n + j];
                }
            }
        }
        for (long q = 0; q < size; q++) {
#pragma omp atomic
            C[q] += local[q];
        }
        free(local);
    }
}
