"""Kernels of a model that compute nothing: they only bring elements into another order, or to another place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.ir.forms import Map
from webnn_compile.ir.nodes import Kernel, Load, Node, Store
from webnn_compile.ir.rewrite import children
from webnn_compile.system.cache import open_cache


def kernels_of(model: Path | bytes, target: str) -> tuple[Kernel, ...]:
    """The naive kernels that a run launches; those that prepare constants at load are no part of it."""
    work = Work("model", Options(model_inputs()), open_cache(), lambda _: None)
    return TARGETS[target].lower(optimise_model(import_graph(model, work), work), work).kernels


def only_moves(kernel: Kernel) -> bool:
    """Whether each element of the results is one that the kernel loads; zeros around them do not count."""
    return kernel.forms == (Map(),) and isinstance([*_stores(kernel.body)][-1].value, Load)


def _stores(node: Node) -> Iterator[Store]:
    if isinstance(node, Store):
        yield node
    for child in children(node):
        yield from _stores(child)
