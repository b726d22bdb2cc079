"""Reductions, and what is normalised by them."""
