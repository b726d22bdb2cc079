"""MXNet models of a few nodes: a symbol as JSON, and a file of parameters."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray
_KINDS = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4, "int8": 5, "int64": 6}


def params_file(arrays: Mapping[str, Array], version: int = 2) -> bytes:
    """The file of these arrays, by names such as "arg:weight", as a version of MXNet's format."""
    parts = [struct.pack("<QQQ", 0x112, 0, len(arrays))]
    for a in arrays.values():
        if version:
            parts.append(struct.pack("<I", 0xF993FAC7 + version))
            parts.append(b"" if version == 1 else struct.pack("<i", 0))
        parts.append(struct.pack(f"<I{a.ndim}{'q' if version else 'I'}", a.ndim, *a.shape))
        parts.append(struct.pack("<iii", 1, 0, _KINDS[a.dtype.name]) + np.ascontiguousarray(a).tobytes())
    parts.append(struct.pack("<Q", len(arrays)))
    parts += [struct.pack("<Q", len(name)) + name.encode() for name in arrays]
    return b"".join(parts)


class Symbol:
    """Nodes, in order; `ref` is a node's number, or a pair of that and of one of its results."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []

    def variable(self, name: str, **attributes: str) -> int:
        return self.node("null", name, [], **attributes)

    def node(self, op: str, name: str, inputs: Sequence[int | tuple[int, int]], **attributes: Any) -> int:
        refs = [[*i, 0] if isinstance(i, tuple) else [i, 0, 0] for i in inputs]
        attrs = {k: str(v) for k, v in attributes.items()}
        self.nodes.append({"op": op, "name": name, "attrs": attrs, "inputs": refs})
        return len(self.nodes) - 1

    def json(self, *heads: int | tuple[int, int]) -> str:
        arguments = [i for i, n in enumerate(self.nodes) if n["op"] == "null"]
        symbol = {
            "nodes": self.nodes,
            "arg_nodes": arguments,
            "node_row_ptr": list(range(len(self.nodes) + 1)),
            "heads": [[*h, 0] if isinstance(h, tuple) else [h, 0, 0] for h in heads],
            "attrs": {"mxnet_version": ["int", 10901]},
        }
        return json.dumps(symbol, indent=2)


def write_model(folder: Path, symbol: str, arrays: Mapping[str, Array]) -> Path:
    """The symbol at net-symbol.json, and its parameters beside it where there are any."""
    path = folder / "net-symbol.json"
    path.write_text(symbol)
    if arrays:
        (folder / "net-0000.params").write_bytes(params_file(arrays))
    return path
