"""Tensor and loop IR: `nodes` has the grammar on one page."""
