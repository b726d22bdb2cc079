"""The pipeline from a graph to a program."""
