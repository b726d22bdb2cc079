"""Inputs and outputs of a run: arrays, their exchange, the sizes that they have."""
