"""Tensor and loop IR: `nodes` has the grammar on one page."""

from . import affine  # noqa: F401, first: it, `identities` and `facts` are one recursion, importable in this order
