"""Compute kernels with workgroups, whatever the language: what the backends for WebGPU and OpenCL share.

A naive kernel is scheduled, lowered until a `Dialect` can print it, and checked against the device's limits.
"""
