"""A compiled model as a library: one API in C, a wrapper in C++, and what loads one in Python."""
