"""The tensors of a node, by its operator's definition; of control flow, by those of its regions' nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..dtypes import F32, I8, I32, U8
from ..errors import BoundsError, UnsupportedError
from ..ir.nodes import Const, Scalar, expr
from ..ir.sizes import Size, capacities, capacity, equal, number, scalars_of, shown
from ..ops import OPERATORS
from ..ops.call import Call
from ..system.limits import check_elements
from ..tensor import Tensor, compute, constant, placeholder
from ..tensor.bound_elements import with_bounds
from ..tensor.computed_sizes import computed_size, definition, sizes_so_far
from ..tensor.fold_tensor import grows, prepared, shipped_bytes
from ..tensor.known_elements import known_elements, with_known_elements
from ..tensor.structure import after, branch, loop
from .ir import DEQUANTIZE, Array, Graph, Node, Value
from .packed_types import packed_types

Record = Callable[[Node, tuple[Tensor, ...]], None]
"""Receives each operator and its tensors, those of regions too."""


Refuse = Callable[[Node, Tensor, str], None]
"""Receives each node that may end a run with an error, as `Call.refusals` has it; of one in a region the flag is a
result of the node around that."""

Flags = list[tuple[Tensor, str]]


def ignore(*_: object) -> None:
    pass


def tensor_of(value: Value, data: Array | None = None, room: tuple[int, ...] | None = None) -> Tensor:
    """`value` as an operand: with its elements, where they are known, in memory for its largest shape, or for
    `room`."""
    if data is not None:
        return constant(value.name, data)
    given = placeholder(value.name, value.shape, value.dtype, room)
    return replace(given, elements=value.elements, bounds=value.bounds)


def add_constants(graph: Graph, tensors: dict[Value, Tensor]) -> None:
    """Adds the constants of `graph` that `tensors` lacks, those that nodes compute as tensors to compute at load."""
    packed = packed_types(graph)
    for v, data in graph.constants.items():
        if v in tensors:
            continue
        node = graph.folded.get(v)
        if node is not None and _is_prepared(v, data, node, tensors):
            tensors[v] = prepared(define(node, tensors)[node.outputs.index(v)], data)
        else:
            tensors[v] = constant(v.name, data, packed.get(v))


def _is_prepared(v: Value, data: Array, node: Node, tensors: Mapping[Value, Tensor]) -> bool:
    """Whether `node` computes the constant `v` at load: a dequantised one where the file has fewer bytes then."""
    if v.dtype not in (F32, I8, I32, U8) or not all(r in tensors for r in node.reads):
        return False
    return node.op not in DEQUANTIZE or grows(data, shipped_bytes([tensors[r] for r in node.reads]))


def define(
    node: Node,
    tensors: Mapping[Value, Tensor],
    record: Record = ignore,
    *,
    refuse: Refuse = ignore,
    types_only: bool = False,
    begun: bool = False,
) -> tuple[Tensor, ...]:
    """The tensors of a node's outputs over those of what it reads. With `types_only` those of an If have the right
    shapes and dtypes alone: they are of the types of its regions' outputs, and the nodes inside are not defined again.
    `begun`: the caller opened the node's `definition`, for the sizes that it makes.

    Raises UnsupportedError where the operator is unknown, InputError where a result has too many elements.
    """
    if not begun:
        with definition(node.name, node.sizes):
            return define(node, tensors, record, refuse=refuse, types_only=types_only, begun=True)
    if node.op == "If":
        results = _define_if(node, tensors, record, refuse, types_only=types_only)
    elif node.op == "Loop":
        results = _define_loop(node, tensors, record, refuse)
    else:
        results = _define_operator(node, tensors, refuse)
    # A result that another one reads stays the same object.
    operands = [tensors[v] for v in node.reads]
    fixed = _inner(results, operands) if len(results) > 1 else set()
    if any(t.elements is not None or t.is_dynamic or (t.dtype.is_float and t.bounds is not None) for t in operands):
        results = tuple(t if t in fixed else with_known_elements(t) for t in results)
    results = tuple(t if t in fixed else with_bounds(t) for t in results)
    for t in results:
        if any(isinstance(extent, int) and extent < 0 for extent in t.shape):
            raise UnsupportedError(
                f"{node.op} (node {node.name!r}): its result would have shape {shown(t.shape)}; check its inputs"
            )
        check_elements(capacities(t.shape), f"{node.op} (node {node.name!r}): its result")
    record(node, results)
    return results


def _inner(results: Sequence[Tensor], operands: Sequence[Tensor]) -> set[Tensor]:
    """Tensors that results are computed from, up to `operands` and without them."""
    inner: set[Tensor] = set()
    open_ = [r for t in results for r in t.reads]
    while open_:
        t = open_.pop()
        if t not in inner and t not in operands:
            inner.add(t)
            open_.extend(t.reads)
    return inner


def _define_operator(node: Node, tensors: Mapping[Value, Tensor], refuse: Refuse) -> tuple[Tensor, ...]:
    fn = node.definition or OPERATORS.get((node.domain, node.op_type))
    if fn is None:
        raise UnsupportedError(
            f"{node.op} (node {node.name!r}): this operator is not supported; replace it in the model"
        )
    try:
        inputs = tuple(None if v is None else tensors[v] for v in node.inputs)
        call = Call(node.op_type, node.name, node.opset, node.attributes, inputs, len(node.outputs), node.domain)
        result = fn(call)
    except BoundsError as error:
        raise UnsupportedError(
            f"{node.op} (node {node.name!r}): the shapes of its inputs do not fit together: {error}; check them, or "
            "export the model again"
        ) from None
    for flag, text in call.refusals:
        refuse(node, flag, text)
    return result if isinstance(result, tuple) else (result,)


def _define_region(
    region: Graph, inputs: Sequence[Tensor], tensors: Mapping[Value, Tensor], record: Record
) -> tuple[list[Tensor], Flags]:
    """The tensors of a region's outputs, and the flags of nodes that refuse runs."""
    own = {v: tensors[v] for v in region.captured} | dict(zip(region.inputs, inputs, strict=True))
    add_constants(region, own)
    flags: Flags = []

    def refuse(node: Node, flag: Tensor, text: str) -> None:
        record(node, (flag,))
        flags.append((flag, text))

    for node in region.nodes:
        for value, t in zip(node.outputs, define(node, own, record, refuse=refuse), strict=False):
            if value is not None:
                own[value] = t
    return [own[v] for v in region.outputs], flags


def _define_if(
    node: Node, tensors: Mapping[Value, Tensor], record: Record, refuse: Refuse, *, types_only: bool
) -> tuple[Tensor, ...]:
    (condition,) = (tensors[v] for v in node.inputs if v is not None)
    (then, of_then), (otherwise, of_otherwise) = (
        ([tensor_of(v) for v in region.outputs], []) if types_only else _define_region(region, (), tensors, record)
        for region in node.regions
    )
    if (refused := is_refused(node)) is not None:
        then, otherwise = _with_refusal(node.name, then, otherwise, refused)
    for a, b in zip(then, otherwise, strict=True):
        if (a.rank, a.dtype) != (b.rank, b.dtype):
            raise UnsupportedError(
                f"If (node {node.name!r}): its branches return {a.dtype}{shown(a.shape)} and {b.dtype}{shown(b.shape)} "
                "for one output; give them one rank and type, or fix what the condition depends on"
            )
    captured = [tensors[v] for v in node.reads]
    # Where one side runs, no node of the other refuses.
    count, flags = len(then), [*of_then, *of_otherwise]
    none = [compute(f"{node.name}.fits{i}", (1,), (), lambda _: Const(0)) for i in range(len(flags))]
    then = [*then, *(t for t, _ in of_then), *none[len(of_then) :]]
    otherwise = [*otherwise, *none[: len(of_then)], *(t for t, _ in of_otherwise)]
    results = branch(node.name, condition, then, otherwise, [*captured, *_measuring(captured)])
    for flag, (_, text) in zip(results[count:], flags, strict=True):
        refuse(node, flag, text)
    return tuple(results[:count])


def _measuring(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Tensors of the sizes that elements of `tensors` are known as, or may be taken as."""
    sizes: list[Size] = []
    for t in tensors:
        bounded = () if t.bounds is None else (*(t.bounds.elements or ()), *(t.bounds.counts or ()))
        sizes += [n for n in (*(t.elements or ()), *bounded) if n is not None]
    return list(sizes_so_far().sources_of(map(number, sizes)))


def is_refused(node: Node) -> int | None:
    """Which region of an If does not fit the sizes of the model, 0 or 1; None where both do."""
    empty = [i for i, region in enumerate(node.regions) if not region.outputs]
    return empty[0] if len(empty) == 1 else None


def _with_refusal(
    name: str, then: Sequence[Tensor], otherwise: Sequence[Tensor], refused: int
) -> tuple[list[Tensor], list[Tensor]]:
    """The results of both regions, where the one that is `refused` has zeros in place of its own; and 1 as the last one
    there, 0 in the other. Sizes that the other region computes are 0."""

    def without_computed(n: Size) -> Size:
        return 0 if any(s.computed for s in scalars_of(number(n))) else n

    kept = list(otherwise if refused == 0 else then)
    zeros = [
        compute(f"{name}.none{i}", tuple(map(without_computed, t.shape)), (), lambda *_, t=t: expr(0, t.dtype))
        for i, t in enumerate(kept)
    ]
    flags = [compute(f"{name}.{what}", (1,), (), lambda _, n=n: Const(n)) for n, what in enumerate(("fits", "refused"))]
    fitting, other = [*kept, flags[0]], [*zeros, flags[1]]
    return (other, fitting) if refused == 0 else (fitting, other)


def _define_loop(node: Node, tensors: Mapping[Value, Tensor], record: Record, refuse: Refuse) -> tuple[Tensor, ...]:
    (body,) = node.regions
    trips, condition, *starts = (None if v is None else tensors[v] for v in node.inputs)
    conditional = condition is not None
    carried = [t for t in (condition, *starts) if t is not None]
    (counter,) = body.inputs[0].elements or ()
    assert isinstance(counter, Scalar)
    most = counter.extent if trips is None else (known_elements(trips) or (counter.extent,))[0]
    shapes = [_inside(t.shape, v.shape, counter) for t, v in zip(carried, body.inputs[1:], strict=True)]
    grows = not all(_same(t.shape, shape) for t, shape in zip(carried, shapes, strict=True))
    stacks = len(body.outputs) > len(carried)
    flags: Flags = []

    def region(_: Scalar, inside: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        results, own = _define_region(body, [tensor_of(body.inputs[0]), *inside[: len(carried)]], tensors, record)
        flags.extend(own)
        nexts, rows = results[: len(carried)], results[len(carried) :]
        for a, shape, b in zip(carried, shapes, nexts, strict=True):
            if most != 0 and (a.dtype != b.dtype or not _same(after(shape, counter, counter + 1), b.shape)):
                raise UnsupportedError(
                    f"Loop (node {node.name!r}): a carried value is {a.dtype}{shown(a.shape)} at first and "
                    f"{b.dtype}{shown(b.shape)} later, and a shape may only grow, as much in each iteration; export "
                    "the model with fixed shapes"
                )
        ran = [compute(f"{node.name}.ran", (), (t,), lambda t=t: t[()] + 1) for t in inside[len(carried) :]]
        return [*nexts, *ran], rows

    # With a condition the iterations that ran are counted, by which sizes of results go.
    counts = [constant(f"{node.name}.none", np.zeros((), np.int32))] if conditional and (stacks or grows) else []
    finals, rows = loop(
        node.name,
        most,
        [*carried, *counts],
        region,
        condition=0 if conditional else None,
        counter=counter,
        shapes=[*shapes, *(() for _ in counts)],
        latches=lambda: [t for t, _ in flags],
    )
    latched = finals[len(carried) + len(counts) :]
    for flag, (_, text) in zip(latched, flags, strict=False):  # a loop without an iteration has none
        refuse(node, flag, text)
    finals = finals[: len(carried) + len(counts)]
    if counts:
        ran = computed_size(f"{node.name}.ran", capacity(most) + 1, finals[-1])
        rows = [replace(t, sizes=(ran, *t.shape[1:])) for t in rows]
        finals = [_resized(t, after(shape, counter, ran)) for t, shape in zip(finals, shapes, strict=False)]
    return (*finals[int(conditional) : len(carried)], *rows)


def _resized(t: Tensor, shape: tuple[Size, ...]) -> Tensor:
    return t if _same(t.shape, shape) else replace(t, sizes=shape)


def _inside(start: Sequence[Size], inside: Sequence[Size], counter: Scalar) -> tuple[Size, ...]:
    """The shape of what a loop carries, which begins with `start`: dimensions of `inside` that grow go by the
    counter."""
    return tuple(b if counter in scalars_of(number(b)) else a for a, b in zip(start, inside, strict=True))


def _same(a: Sequence[Size], b: Sequence[Size]) -> bool:
    return len(a) == len(b) and all(map(equal, a, b))
