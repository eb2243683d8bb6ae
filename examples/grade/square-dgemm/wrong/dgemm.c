/* Wrong unless n is a multiple of 4: the loop over k leaves up to three columns of A out. */
void square_dgemm(int n, double *A, double *B, double *C) {
    for (int j = 0; j < n; j++)
        for (int k = 0; k + 3 < n; k += 4)
            for (int i = 0; i < n; i++)
                for (int l = k; l < k + 4; l++) C[i + j * n] += A[i + l * n] * B[l + j * n];
}
