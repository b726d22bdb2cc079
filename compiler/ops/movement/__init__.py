"""Operators that move, repeat or choose elements by their place."""
