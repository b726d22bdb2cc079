"""Reads an MXNet model: a symbol (net-symbol.json) and its parameters (net-0000.params)."""

from __future__ import annotations

import json
import re
import struct
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ..open_file import read_file, read_model_file
from .read_params import read_params

DAMAGES = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, MemoryError, RuntimeError, SyntaxError)
"""Exceptions that readers and NumPy raise for what is not as MXNet writes it; RecursionError is among them."""

_LOSSES = frozenset(
    {"SoftmaxOutput", "Softmax", "LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"}
    | {"SVMOutput", "MakeLoss", "make_loss"}
)
"""Operators that train by their second operand, a label."""

Ref = tuple[int, int]
"""The number of a node, and of one of its results."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """`attributes` are texts. A variable has no `op`."""

    name: str
    op: str | None
    attributes: Mapping[str, str]
    inputs: tuple[Ref, ...]

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of a literal, such as "(3, 3)"; a text where it is none."""
        text = self.attributes.get(name)
        if text is None:
            return default
        try:
            return literal_eval(text)
        except (ValueError, SyntaxError):
            return text


@dataclass(frozen=True, slots=True)
class Model:
    """`name` is that of the file of the symbol, `file` of the parameters, "" where there is none. `nodes` are those
    that the `heads` need, by number, in order."""

    name: str
    file: str
    version: str
    nodes: Mapping[int, Node]
    heads: tuple[Ref, ...]
    parameters: Mapping[str, np.ndarray]


def read_model(model: str | Path | bytes) -> Model:
    """Reads the symbol, or the parameters and the symbol beside them. Raises InputError for what is no MXNet model."""
    data, name = read_model_file(model, "an MXNet file", "save or download")
    path = None if isinstance(model, bytes) else Path(model)
    if data[:1] != b"{":
        path = None if path is None else _symbol_beside(path)
        if path is None:
            raise InputError(
                f"{name} has parameters of an MXNet model without its symbol; put the file *-symbol.json beside it, "
                "and give its path"
            )
        file, params = name, data
        data, name = read_file(path, "an MXNet symbol"), path.name
    else:
        beside = None if path is None else _params_beside(path)
        file = "" if beside is None else beside.name
        params = b"" if beside is None else read_file(beside, "MXNet's parameters")
    try:
        parameters = read_params(params, file) if file else {}
    except (*DAMAGES, struct.error) as error:
        raise InputError(
            f"{file} is not a valid file of MXNet's parameters ({type(error).__name__}: {error}); save or download it "
            "again"
        ) from None
    try:
        return _symbol(json.loads(data), name, file, parameters)
    except DAMAGES as error:
        raise InputError(
            f"{name} is not a valid MXNet symbol ({type(error).__name__}: {error}); save or download it again"
        ) from None


def files_beside(path: Path) -> list[Path]:
    """The other of a model's two files, where it is expected: of parameters those of the first epoch."""
    return [path.with_name(_stem(path) + ("-symbol.json" if path.suffix == ".params" else "-0000.params"))]


def _stem(path: Path) -> str:
    return re.sub(r"(-symbol)?\.json$|(-\d+)?\.params$", "", path.name)


def _params_beside(path: Path) -> Path | None:
    """The parameters of the last epoch."""
    found = [p for p in sorted(path.parent.glob("*.params")) if _stem(p) == _stem(path)]
    return found[-1] if found else None


def _symbol_beside(path: Path) -> Path | None:
    symbol = path.with_name(f"{_stem(path)}-symbol.json")
    return symbol if symbol.is_file() else None


def _symbol(symbol: Any, name: str, file: str, parameters: Mapping[str, np.ndarray]) -> Model:
    listed = [_node(n) for n in symbol["nodes"]]
    heads = tuple(_ref(h) for h in symbol["heads"])
    needed: dict[int, Node] = {}
    waiting = [n for n, _ in heads]
    while waiting:
        i = waiting.pop()
        if i not in needed:
            needed[i] = node = listed[i]
            if any(not 0 <= n < i for n, _ in node.inputs):
                raise ValueError(f"{node.name!r} reads what comes after it")
            waiting += [n for n, _ in node.inputs]
    (version,) = [v[1] for k, v in symbol.get("attrs", {}).items() if k == "mxnet_version"] or [0]
    version = f"{version // 10000}.{version // 100 % 100}.{version % 100}" if version else ""
    return Model(name, file, version, {i: needed[i] for i in sorted(needed)}, heads, parameters)


def _node(node: Any) -> Node:
    op = None if node["op"] == "null" else str(node["op"])
    attributes = {**node.get("attr", {}), **node.get("param", {}), **node.get("attrs", {})}
    inputs = tuple(_ref(i) for i in node["inputs"])
    if op in _LOSSES:
        inputs = inputs[:1]
    name = str(node["name"]).encode().decode()
    return Node(name, op, {str(k): str(v) for k, v in attributes.items()}, inputs)


def _ref(ref: Any) -> Ref:
    return int(ref[0]), int(ref[1])
