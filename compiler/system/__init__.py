"""What concerns the process and the machine: cache on disk, memory limits, recursion depth, garbage collector."""
