"""Schedule steps: pure functions from a statement to an equivalent one; an illegal step raises ScheduleError.

Loops are named by their variable. A step that copies a body keeps the variables of the loops in it, so that a later
step on such a loop acts on every copy.
"""

from .accumulate import accumulate, stores_sum
from .compute_at import compute_at, reading_loop
from .cut import cut
from .extend import extend
from .fuse import fuse
from .hoist_guards import hoist_guards
from .interleave import interleave
from .keep_sums import keep_sums
from .outline import outline
from .overlap import overlap
from .pack import pack
from .partition import partition
from .preload import preload
from .reorder import reorder
from .rfactor import rfactor
from .sink import sink
from .split import NARROWEST_VECTOR, powers_below, rounded, segments, split, tiles_of, vector_segments, vectors_of
from .spread import spread
from .stage import stage
from .sum_in_blocks import sum_in_blocks
from .tag import tag, vectorise
from .tensorize import tensorize
from .unfuse import sizes_between, unfuse

__all__ = [
    "NARROWEST_VECTOR",
    "accumulate",
    "compute_at",
    "cut",
    "extend",
    "fuse",
    "hoist_guards",
    "interleave",
    "keep_sums",
    "outline",
    "overlap",
    "pack",
    "partition",
    "powers_below",
    "preload",
    "reading_loop",
    "reorder",
    "rfactor",
    "rounded",
    "segments",
    "sink",
    "sizes_between",
    "split",
    "spread",
    "stage",
    "stores_sum",
    "sum_in_blocks",
    "tag",
    "tensorize",
    "tiles_of",
    "unfuse",
    "vector_segments",
    "vectorise",
    "vectors_of",
]
