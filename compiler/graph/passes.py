"""The passes over graphs, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable

from ..system.run_passes import ignore, run_passes
from .centre_quanta import centre_quanta
from .convert_float16 import convert_float16
from .eliminate_dead_code import eliminate_dead_code
from .fold_batch_norm import fold_batch_norm
from .fold_constants import fold_constants
from .integer_products import integer_products
from .ir import Graph
from .merge_duplicates import merge_duplicates
from .move_factors import move_factors
from .move_quanta import move_quanta
from .pack_along_sums import pack_along_sums
from .put_channels_first import put_channels_first
from .remove_identities import remove_identities
from .share_transposes import share_transposes
from .tabulate_quanta import tabulate_quanta
from .tile_attention import tile_attention

GraphPass = Callable[[Graph], Graph]
"""Returns the same object where nothing changed."""

GRAPH_PASSES: tuple[GraphPass, ...] = (
    put_channels_first,
    eliminate_dead_code,  # early, so that unused outputs hinder no other pass
    convert_float16,
    move_quanta,
    tabulate_quanta,
    integer_products,
    centre_quanta,
    fold_constants,
    remove_identities,
    move_factors,
    fold_batch_norm,
    eliminate_dead_code,
    merge_duplicates,
    share_transposes,
    pack_along_sums,
    tile_attention,
)

OWN_PASSES = (
    *(put_channels_first, move_quanta, tabulate_quanta, integer_products, centre_quanta, pack_along_sums),
    tile_attention,
)

ONNX_PASSES = tuple(p for p in GRAPH_PASSES if p not in OWN_PASSES)
"""Passes that leave operators of ONNX's domains alone in a graph, as an ONNX file has them."""


def run_graph_passes(
    graph: Graph,
    passes: tuple[GraphPass, ...] = GRAPH_PASSES,
    observe: Callable[[str, Graph], None] = ignore,
) -> Graph:
    """`graph` after `passes`; `observe` gets each pass's name and result."""
    return run_passes(graph, passes, observe)
