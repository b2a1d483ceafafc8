"""Models: joints, links, shapes, the builder, and the frozen arrays kernels read."""
