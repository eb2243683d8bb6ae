# R's products by libgemm:
#
#     LD_PRELOAD=$PWD/bin/lib/libgemm.so Rscript examples/lib/product.R
options(matprod = "blas") # otherwise R looks for NaN first, which takes time
a <- matrix(runif(120 * 80), 120)
b <- matrix(runif(80 * 90), 80)
product <- a %*% b
stopifnot(abs(product[60, 45] - sum(a[60, ] * b[, 45])) <= 1e-13)
cat("a %*% b is right\n")
