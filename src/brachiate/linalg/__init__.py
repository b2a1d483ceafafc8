"""Dense linear algebra for kernels: LU factors, minimum-norm least squares, symmetric 3×3 systems, SIMD rows."""
