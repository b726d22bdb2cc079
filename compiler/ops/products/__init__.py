"""Products: matrices, convolutions, attention, Fourier transforms."""
