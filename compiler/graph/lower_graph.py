"""From operators to tensors: the last step with ONNX's operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..errors import UnsupportedError
from ..ir.nodes import Origin, Scalar
from ..ir.sizes import Size, capacities, number, scalars_of
from ..program.refusals import Refusal
from ..tensor import Tensor, compute
from ..tensor.collect_regions import Origins, collect_region
from ..tensor.computed_sizes import Definition, computed_size, definition
from ..tensor.program import Special, TensorProgram
from .define import add_constants, define, tensor_of
from .ir import Graph, Node, Value
from .specialise import SpecialGraph

Ports = list[tuple[str, Tensor]]

NO_SCALARS: Mapping[Scalar, Scalar] = {}


def lower_graph(graph: Graph, special: Sequence[SpecialGraph] = ()) -> TensorProgram:
    """Each node's outputs as tensors over those of what it reads; constants become constant tensors. The tensors of a
    `special` graph are beside those of the general one, over the same constants."""
    constants: dict[Value, Tensor] = {}
    with definition(graph.name) as defined:
        shapes = {v.name: v.shape for v in graph.outputs}
        left = {s.before: shapes[s.after] for s in graph.states}
        inputs = {v: tensor_of(v, room=_room(v, left.get(v.name))) for v in graph.inputs}
        program = _lower(graph, defined, constants, inputs)
    reported = tuple(_reported(program))
    lowered: list[Special] = []
    for one in special:
        with definition(graph.name) as defined:
            inputs = {v: tensor_of(v) for v in one.graph.inputs}
            own = _lower(one.graph, defined, constants, inputs, program, one.computed)
        lowered.append(Special(one.values, own, reported))
    return replace(program, special=tuple(lowered))


def _lower(
    graph: Graph,
    defined: Definition,
    constants: dict[Value, Tensor],
    inputs: dict[Value, Tensor],
    general: TensorProgram | None = None,
    sizes: Mapping[Scalar, Scalar] = NO_SCALARS,
) -> TensorProgram:
    """`constants` of other graphs are read where values are the same, and get those of this one. The outputs of one
    that takes the place of a `general` program are as `Special` has them; `sizes` are those that it computes, by the
    general one's."""
    tensors = {**constants, **inputs}
    add_constants(graph, tensors)
    constants.update((v, tensors[v]) for v in graph.constants)
    origins = Origins(defined.sizes)
    for v, node in graph.folded.items():
        if v in tensors and tensors[v].prepared:
            origins.add((tensors[v],), Origin((node.name,), (node.op,)))

    def record(node: Node, results: tuple[Tensor, ...]) -> None:
        used = (t for v, t in zip(node.outputs, results, strict=False) if v is not None)
        origins.add(used, Origin((node.name,), (node.op,)))

    computed, refusals = [], []

    def refuse(node: Node, flag: Tensor, text: str) -> None:
        computed.append(flag)
        origins.add((flag,), Origin((node.name,), (node.op,)))
        refusals.append(Refusal(computed_size(flag.name, 2, flag), text))

    for node in graph.nodes:
        results = define(node, tensors, record, refuse=refuse)
        for value, t in zip(node.outputs, results, strict=False):
            if value is not None:
                tensors[value] = t

    def copied(name: str, t: Tensor, op: str = "Identity") -> Tensor:
        t = compute(name, t.shape, (t,), lambda *i, source=t: source.read(i))
        origins.add((t,), Origin((name,), (op,)))
        return t

    outputs: Ports = []
    for v in graph.outputs:
        t = tensors[v]
        # A constant or an input as an output needs memory of its own, and so do outputs that are one for some sizes.
        shared = general is not None and any(t is other for _, other in outputs)
        t = copied(v.name, t) if t.body is None or t.is_constant or shared else t
        computed.append(t)
        outputs.append((v.name, t))
    ports = tuple((v.name, tensors[v]) for v in graph.inputs)
    for v, text in graph.refusals:
        t = tensors[v]
        if t.is_constant:  # no region computes it
            t = copied(f"{v.name}.refused", t, "If")
        computed.append(t)
        refusals.append(Refusal(computed_size(v.name, 2, t), text))
    if general is not None:
        for s, n in _values_of(general, outputs, refusals, sizes).items():
            like = general.sizes.source(s)
            assert like is not None
            t = compute(f"{s.name}.value", like.shape, (), lambda *_, n=n, dtype=like.dtype: number(n, dtype))
            computed.append(t)
            origins.add((t,), Origin((s.name,), ("Size",)))
            outputs.append((t.name, t))
        refusals = []
    region = collect_region(ports, computed, tuple(outputs), origins)
    return replace(region, dimensions=graph.dimensions, refusals=tuple(refusals), states=graph.states)


def _room(v: Value, left: tuple[Size, ...] | None) -> tuple[int, ...] | None:
    """The shape that the memory of a state is laid out for: it holds what a run leaves, too."""
    return None if left is None else tuple(map(max, capacities(v.shape), capacities(left)))


def _reported(general: TensorProgram) -> Iterator[Scalar]:
    """The scalars of sizes of outputs, and of refusals, that a run computes."""
    sizes = (number(n) for _, t in general.outputs for n in t.shape)
    for s in dict.fromkeys((*scalars_of(*sizes), *(r.scalar for r in general.refusals))):
        if general.sizes.source(s) is not None:
            yield s


def _values_of(
    general: TensorProgram, outputs: Ports, refusals: list[Refusal], sizes: Mapping[Scalar, Scalar]
) -> dict[Scalar, Size]:
    """The values of the scalars that a general program reports, by the `sizes`, outputs and refusals of a special
    one."""
    flags = {r.text: r.scalar for r in refusals}
    values: dict[Scalar, Size] = {**sizes, **{r.scalar: flags.get(r.text, 0) for r in general.refusals}}
    for (_, t), (_, own) in zip(general.outputs, outputs, strict=True):
        values |= {n: size for n, size in zip(t.shape, own.shape, strict=True) if isinstance(n, Scalar)}
    found = {s: values[s] for s in _reported(general) if s in values}
    missing = [s.name for s in _reported(general) if s not in values]
    if missing:
        raise UnsupportedError(
            f"a run finds {missing[0]!r}, of which the size of an output is computed: leave `fast` out of the --dim"
        )
    return found
