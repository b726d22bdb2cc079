"""Compiled models as data, for CPUs and for GPUs, and their static memory plans."""
