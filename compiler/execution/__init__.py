"""Models that run in this process: inputs in, outputs out."""
