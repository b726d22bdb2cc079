"""Process and machine: cache on disk, memory limits, recursion depth, garbage collector."""
