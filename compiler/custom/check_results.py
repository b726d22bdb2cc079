"""Checks of what the definition of an operator returns, before anything is made of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..dtypes import F16
from ..ir.reduction import Reduce
from ..ir.rewrite import walk
from ..ops.call import Call
from ..tensor import Tensor


def results_of(returned: object, call: Call) -> tuple[Tensor, ...] | str:
    """The tensors that a definition returned for `call`, or a description of what is wrong with them."""
    results = tuple(returned) if isinstance(returned, tuple | list) else (returned,)
    for t in results:
        if not isinstance(t, Tensor):
            return f"the definition returned {_kind(t)}, where a Tensor or a tuple of Tensors is expected"
        if t.dtype == F16 and not any(x is not None and x.dtype == F16 for x in call.inputs):
            return (
                "the definition returned float16 for inputs of other types; models in float16 are computed in float32: "
                "cast to the type of an input, by .cast(x.dtype), or return float32"
            )
    if len(results) < call.outputs:
        return f"the definition returned {len(results)} of the {call.outputs} outputs that the node has"
    return _fault_of_bodies(results, call) or results


def _kind(value: object) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def _fault_of_bodies(results: Sequence[Tensor], call: Call) -> str | None:
    """Describes a wrong body among the tensors between the inputs and `results`; None where all are right."""
    given = {t for t in call.inputs if t is not None}
    seen: set[Tensor] = set()
    rest = list(results)
    while rest:
        t = rest.pop()
        if t in seen or t in given:
            continue
        seen.add(t)
        if t.body is None and t.data is None and t.source is None:
            return f"tensor {t.name!r} has no body, and is no input of this node"
        inner = t.body.value if isinstance(t.body, Reduce) else t.body
        if inner is not None and any(isinstance(e, Reduce) for e in walk(inner)):
            return (
                f"the body of tensor {t.name!r} has a reduction inside: a reduction is the whole body of a tensor, "
                "which a second tensor reads"
            )
        rest.extend(t.reads)
    return None
