"""Sounds as inputs: how samples become the elements that a model takes."""
