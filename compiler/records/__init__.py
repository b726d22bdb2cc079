"""Measurements of kernels' and layers' choices, and the choices of a build that follow from them."""
