"""Sorting, and results as long as the data have elements of a kind."""
