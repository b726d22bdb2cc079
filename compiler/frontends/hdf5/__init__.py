"""HDF5 files that Keras writes, read in Python and NumPy alone.

The format's own library, in C, may not return from a damaged file, or end the process. Here every read is checked
against the end of the file, and all structures together have no more bytes than it. Read are groups by symbol tables
and by link messages, texts in attributes, and datasets in one piece or in chunks by a B-tree of version 1: all that
h5py writes by default. Other features raise Unsupported.

Source: "HDF5 File Format Specification, Version 3.0", The HDF Group.
"""

from .cursor import Unsupported
from .node import SIGNATURE, Node, open_hdf5

__all__ = ["SIGNATURE", "Node", "Unsupported", "open_hdf5"]
