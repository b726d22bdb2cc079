"""CUDA: kernels as CUDA C, compiled by NVRTC, and a device that runs them."""
