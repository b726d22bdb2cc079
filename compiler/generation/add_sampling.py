"""The choice of the next token, compiled with the decoder."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import BOOL, F16, F32, I32, I64, U8
from ..errors import InputError, InternalError
from ..graph.ir import Graph, Value
from ..graph.tail import Tail
from ..ir.sizes import shown
from ..ops.call import OWN_DOMAIN
from .last_rows import last_rows
from .ports import BY_COUNT, BY_MASS, COUNTS, DRAWS, LOGPROB, OPTIONS, SEEN, SEEN_NEXT, TOKEN, TOP_IDS, TOP_LOGPROBS


def add_sampling(graph: Graph, logits: str, ids: str, top: int = 0) -> Graph:
    """The decoder with a token in place of its output `logits`, float32 or float16 [1, length, vocabulary] or [1,
    vocabulary], of which the last row counts, and is computed alone (`last_rows`). `ids` is its input of tokens, int64
    or int32 [1, length].

    `ports` has the inputs, which `sample.Sampling` makes of a user's options, and the outputs, which stand behind those
    that stay: TOKEN, LOGPROB, TOP_IDS and TOP_LOGPROBS unless `top` is 0, and SEEN_NEXT. `sample` says how the token is
    chosen.

    Raises InputError where the model has no such output or input, or names that are added.
    """
    row = next((v for v in graph.outputs if v.name == logits), None)
    given = next((v for v in graph.inputs if v.name == ids), None)
    if row is None or row.dtype not in (F32, F16) or len(row.shape) not in (2, 3) or row.shape[0] != 1:
        wanted = "float32 or float16 [1, length, vocabulary]"
        raise InputError(f"logits {logits!r}: name an output of {wanted}; the model has {_listed(graph.outputs)}")
    if given is None or given.dtype not in (I64, I32) or len(given.shape) != 2 or given.shape[0] != 1:
        wanted = "int64 or int32 [1, length]"
        raise InputError(f"ids {ids!r}: name an input of {wanted}; the model has {_listed(graph.inputs)}")
    vocabulary = row.shape[-1]
    if not isinstance(vocabulary, int) or not 0 <= top <= vocabulary:
        raise InputError(f"logits {logits!r}: the {top} best of {shown(row.shape)} are no fixed number of its tokens")
    graph = last_rows(graph, logits)
    row = next(v for v in graph.outputs if v.name == logits)
    tail = Tail(graph)
    numbers = tail.input(OPTIONS, (4,), F32), tail.input(COUNTS, (3,), I32)
    seen = tail.input(SEEN, (vocabulary,), U8)
    flags = [tail.input(name, (), BOOL) for name in (DRAWS, BY_COUNT, BY_MASS)]
    if len(row.shape) == 3:
        last = tail.constant(f"{logits}.at", -1, int)
        row = tail.node("Gather", f"{logits}.last", row, last, axis=1)
    flat = tail.reshaped(f"{logits}.row", row, vocabulary)
    tokens = tail.reshaped(f"{ids}.row", given, -1)
    marked = tail.node("MarkTokens", SEEN_NEXT, seen, tokens, domain=OWN_DOMAIN)
    names = (TOKEN, LOGPROB, *((TOP_IDS, TOP_LOGPROBS) if top else ()))
    made = tail.nodes("SampleToken", names, flat, *numbers, marked, *flags, domain=OWN_DOMAIN, top=top)
    made = (*made, marked)
    for value, name in zip(made, (*names, SEEN_NEXT), strict=True):
        if value.name != name:
            raise InputError(f"the model has a value {name!r}, the name of an output to add: rename it in the model")
    return tail.graph((*(v for v in graph.outputs if v.name != logits), *made))


def give_logits(graph: Graph) -> tuple[Graph, str]:
    """The decoder with the row of logits that its token is chosen of, float32 or float16 [vocabulary], as the last
    output, and the name of this: backends are compared by it. `graph` is one of `add_sampling`."""
    row = next((n.inputs[0] for n in graph.nodes if (n.domain, n.op_type) == (OWN_DOMAIN, "SampleToken")), None)
    if row is None:
        raise InternalError("give_logits: no node chooses a token")
    first = None if graph.first is None else give_logits(graph.first)[0]
    return replace(graph, outputs=(*graph.outputs, row), first=first), row.name


def _listed(values: tuple[Value, ...]) -> str:
    return ", ".join(f"{v.name} of {v.dtype}{shown(v.shape)}" for v in values)
