"""Dense linear algebra for kernels: LU factors, minimum-norm least squares, SIMD rows."""
