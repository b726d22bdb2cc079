"""From naive kernels to a program for a GPU, with its host part."""
