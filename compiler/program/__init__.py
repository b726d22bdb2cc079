"""Compiled models as data, for processors and for GPUs, and the static plans of their memory."""
