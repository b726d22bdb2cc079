"""From naive kernels to a program for a GPU, and the part of it that runs on the host."""
