"""Operators that read an image between its pixels."""
