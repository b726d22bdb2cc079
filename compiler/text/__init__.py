"""Text that leaves the compiler, escaped for the language that it is put into."""
