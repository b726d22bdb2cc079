"""Recurrent layers, and running sums."""
