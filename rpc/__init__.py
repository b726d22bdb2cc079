"""Measuring kernels in a browser tab: what travels between tuner and tab. Imports nothing of the compiler."""
