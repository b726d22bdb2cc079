"""Formats of inputs: how what people have becomes the elements that a model takes."""
