"""OpenCL: kernels as OpenCL C 1.2, and a device that runs them."""
