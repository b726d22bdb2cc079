"""Readers of model formats: each returns a Graph."""
