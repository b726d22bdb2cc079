"""Measures compiled models beside other engines, natively and in browsers: `python -m benchmarks run`."""
