"""Models: joints, links, shapes, the model builder, and the constant arrays of kernels."""
