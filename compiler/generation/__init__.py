"""Tokens out of a decoder: what is compiled behind its logits, and the same in NumPy."""
