"""The contact schedule of a reference, and arrays of the reference window."""
