"""The line from a graph to a program."""
