"""A file as a tree of groups and datasets (section II)."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .attributes import read_attributes, read_texts
from .cursor import File, Unsupported
from .elements import read_elements
from .headers import Kind, Message, read_messages
from .links import read_links

SIGNATURE = b"\x89HDF\r\n\x1a\n"


class Node:
    """A group or a dataset, with its attributes. All that is read of it is kept, and each object of a file is one Node.

    Every method raises ValueError or LookupError for damage, and Unsupported for what is not read.
    """

    def __init__(self, file: File, address: int, nodes: dict[int, Node]) -> None:
        self._file, self._address, self._nodes = file, address, nodes
        nodes[address] = self

    @cached_property
    def _messages(self) -> list[Message]:
        return read_messages(self._file, self._address)

    @cached_property
    def _attributes(self) -> dict[str, tuple[memoryview, ...]]:
        return read_attributes(self._messages)

    @cached_property
    def _links(self) -> dict[str, int]:
        return read_links(self._file, self._messages)

    @property
    def is_dataset(self) -> bool:
        return any(m.kind == Kind.LAYOUT for m in self._messages)

    @property
    def names(self) -> list[str]:
        """The names of what is inside a group."""
        return list(self._links)

    @property
    def attributes(self) -> list[str]:
        """The names of attributes."""
        return list(self._attributes)

    def child(self, name: str) -> Node | None:
        """The group or dataset of that name; None where there is none in the file. Links to names and into other files
        are not followed."""
        address = self._links.get(name)
        if address is None:
            return None
        return self._nodes.get(address) or Node(self._file, address, self._nodes)

    def texts(self, attribute: str) -> list[str]:
        """All elements of an attribute."""
        return read_texts(self._file, self._attributes[attribute])

    @cached_property
    def elements(self) -> np.ndarray:
        """The numbers of a dataset, bfloat16 as float32. The array may be read-only."""
        return read_elements(self._file, self._messages)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The elements, reals of all widths as float32."""
        return self.elements.astype(np.float32, copy=False) if self.elements.dtype.kind == "f" else self.elements


def open_hdf5(data: bytes) -> Node:
    """The group at the root of a file. Raises ValueError for what is no HDF5 file."""
    file = File(memoryview(data))
    at = file.at(0)
    at.take(len(SIGNATURE))
    if not data.startswith(SIGNATURE):
        raise ValueError("it is no HDF5 file")
    version = at.number(1)
    if version > 3:
        raise Unsupported(f"a superblock of version {version}")
    at.take(4 if version < 2 else 0)
    sizes = (at.number(1), at.number(1))
    if sizes != (8, 8):
        raise Unsupported(f"addresses of {sizes[0]} bytes and lengths of {sizes[1]}")
    at.take({0: 9, 1: 13}.get(version, 1))  # sizes of nodes, flags
    if at.number(8):
        raise Unsupported("addresses that begin elsewhere than at the beginning of the file")
    at.take(32 if version < 2 else 16)  # of free space, the end and a driver; the name of the root
    return Node(file, at.number(8), {})
