"""Decoders of which runs give tokens: their input of tokens, their logits, and what is added for the next token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..dtypes import F16, F32, I32, I64, DType
from ..errors import InputError
from ..graph.ir import Graph, Value
from ..ir.sizes import capacity, shown
from ..program.program import TensorSpec
from ..program.states import State
from .add_sampling import add_sampling
from .ports import SAMPLING, SEEN, SEEN_NEXT, TOKEN, TOP_IDS

IDS = ("input_ids", "tokens", "token_ids", "ids", "decoder_input_ids")
LOGITS = ("logits", "lm_logits", "output", "scores")
"""Usual names of the input of tokens and the output of logits, by preference."""


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """`ids` and `logits` name the model's input and output, None for those of usual names; `top` tokens are reported
    beside the chosen one."""

    ids: str | None = None
    logits: str | None = None
    top: int = 0


@dataclass(frozen=True, slots=True)
class Generation:
    """A decoder as a loop over tokens uses it: `ids` is its input of tokens, of a dtype, of at most `longest`
    in a run. With `top` the likeliest so many are outputs, too; `vocabulary` tokens exist, of which those of `end` end
    a text. `logits` is the output of WebAssembly alone that has them, where runs of a GPU are compared by it."""

    ids: str
    dtype: DType
    longest: int
    vocabulary: int
    top: int
    end: tuple[int, ...] = ()
    logits: str | None = None

    def describe(self) -> str:
        """A line for the report."""
        top = f", with the {self.top} likeliest" if self.top else ""
        end = f"; {', '.join(map(str, self.end))} ends a text" if self.end else ""
        return f"tokens of {self.vocabulary} by {self.ids}, at most {self.longest} in a run{top}{end}"


def add_generation(graph: Graph, options: GenerateOptions) -> tuple[Graph, Generation]:
    """The decoder with the next token in place of its logits. Raises InputError where it has no states, or no such
    input or output."""
    if not graph.states:
        raise InputError(
            "generate: the model keeps nothing between runs; name its caches by --state past.*=present.*, or export it "
            "with a cache of keys and values"
        )
    ids = _port("ids", options.ids, graph.inputs, IDS, (I64, I32), (2,))
    logits = _port("logits", options.logits, graph.outputs, LOGITS, (F32, F16), (2, 3))
    generation = Generation(ids.name, ids.dtype, capacity(ids.shape[1]), capacity(logits.shape[-1]), options.top)
    first = None if graph.first is None else _sampled(graph.first, logits.name, ids.name, options.top)
    return replace(_sampled(graph, logits.name, ids.name, options.top), first=first), generation


def _sampled(graph: Graph, logits: str, ids: str, top: int) -> Graph:
    """The graph with the token behind its last row of logits, and which tokens occurred as one more state."""
    sampled = add_sampling(graph, logits, ids, top)
    return replace(sampled, states=(*sampled.states, State(SEEN, SEEN_NEXT, stays=True, overwritten=True)))


def generation_of(
    inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], states: Sequence[TensorSpec]
) -> Generation | None:
    """How a loop uses a compiled decoder, by its tensors; None for a model that gives no tokens. Which tokens end a
    text they do not say."""
    top = {t.name: t.length for t in outputs}.get(TOP_IDS, 0)
    seen = [s.length for s in states if s.name == SEEN]
    given = [t for t in inputs if t.name not in SAMPLING and t.dtype in (I64, I32) and len(t.shape) == 2]
    usual = [t for name in IDS for t in given if t.name == name]
    ids = usual[:1] or (given if len(given) == 1 else [])
    if not seen or not ids or TOKEN not in {t.name for t in outputs}:
        return None
    return Generation(ids[0].name, ids[0].dtype, ids[0].extents[1], seen[0], top)


def _port(
    what: str,
    name: str | None,
    values: Sequence[Value],
    usual: Sequence[str],
    dtypes: Sequence[DType],
    ranks: Sequence[int],
) -> Value:
    """The input or output that is named, or the one of a usual name, or the only one that can be."""
    by_name = {v.name: v for v in values}
    fitting = [v for v in values if v.dtype in dtypes and len(v.shape) in ranks]
    listed = ", ".join(f"{v.name} of {v.dtype}{shown(v.shape)}" for v in values) or "none"
    if name is not None:
        if by_name.get(name) not in fitting:
            raise InputError(f"generate: {what}={name!r} is none of {listed}")
        return by_name[name]
    found = next((by_name[n] for n in usual if by_name.get(n) in fitting), None)
    if found is None and len(fitting) == 1:
        found = fitting[0]
    if found is None:
        raise InputError(
            f"generate: nothing says which are the {what}; name one of {listed}, as in --generate {what}=NAME"
        )
    return found


def parse_generate(text: str) -> GenerateOptions:
    """Parses ids=NAME,logits=NAME,top=N, each if it is there. Raises InputError."""
    given = dict(part.partition("=")[::2] for part in text.split(",") if part)
    unknown = given.keys() - {"ids", "logits", "top"}
    if unknown or not given.get("top", "0").isdigit():
        raise InputError(f"generate {text!r}: give ids=INPUT, logits=OUTPUT and top=NUMBER, with commas between them")
    return GenerateOptions(given.get("ids"), given.get("logits"), int(given.get("top", "0")))
