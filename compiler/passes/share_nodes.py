"""Equal expressions become one object: unrolled loops leave copies, and passes handle what is shared once."""

from __future__ import annotations

from dataclasses import replace

from ..ir.nodes import Kernel
from .merge_equal import merge_equal


def share_nodes(kernel: Kernel) -> Kernel:
    """y[0] = x[1] * x[1], with two loads   ->   the same, with one"""
    body = merge_equal(kernel.body)
    return kernel if body is kernel.body else replace(kernel, body=body)
