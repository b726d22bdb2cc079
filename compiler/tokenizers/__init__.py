"""Tokenizers: text in place of a model's ids, masks and types of tokens."""
