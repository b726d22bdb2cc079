"""Quantises models of float32: weights alone, or with calibration the values between layers, too."""
