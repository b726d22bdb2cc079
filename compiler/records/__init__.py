"""What was measured of kernels' and layers' choices, and the choices of a build that follow from it."""
