! The product of two matrices by dgemm of libgemm, in place of another BLAS:
!
!     gfortran examples/lib/product.f90 -Lbin/lib -lgemm -Wl,-rpath,$PWD/bin/lib -o product
program product_by_gemm
  implicit none
  external :: dgemm
  double precision :: a(3, 2), b(2, 4), c(3, 4)

  call random_number(a)
  call random_number(b)
  call dgemm('N', 'N', 3, 4, 2, 1d0, a, 3, b, 2, 0d0, c, 3)
  if (.not. all(abs(c - matmul(a, b)) <= 1d-15)) error stop 'the product is wrong'
  print '(a)', 'dgemm and matmul agree'
end program product_by_gemm
