"""Launches by which a device shows at load that it computes the kernels of a program rightly."""
