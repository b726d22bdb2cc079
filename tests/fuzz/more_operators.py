"""Random graphs of more operators and more nodes than those of `random_graphs`."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto
from random_graphs import OPERATORS, RandomGraph, random_graph


def general_product(g: RandomGraph) -> None:
    """Gemm, with a C of any shape that broadcasts, some of it at run time."""
    x, r = g.pick((2,)), g.draw
    if x is None:
        return
    turned = r.random() < 0.3
    m, k = g.values[x].shape[:: -1 if turned else 1]
    n = r.choice((1, 3, 8, 17))
    w = g.normal(*((n, k) if (transposed := r.random() < 0.5) else (k, n))) * np.float32(k**-0.5)
    c = [g.normal(*r.choice(((n,), (1, n), (m, 1), (m, n), (1,), ())))] if r.random() < 0.7 else []
    given = [g.input(a) if r.random() < 0.3 else g.weight(a) for a in (w, *c)]
    extra = {"alpha": r.choice((1.0, 0.5)), "beta": r.choice((1.0, -2.0))}
    g.add("Gemm", [x, *given], transA=int(turned), transB=int(transposed), **extra)


def einsum(g: RandomGraph) -> None:
    x, r = g.pick((2, 3, 4)), g.draw
    if x is None:
        return
    shape = g.values[x].shape
    letters = "abcd"[: len(shape)]
    shared = r.choice(letters)
    other = shared + "z"
    w = g.normal(shape[letters.index(shared)], r.choice((1, 3, 5))) * np.float32(0.3)
    kept = [c for c in letters + "z" if r.random() < 0.7]
    r.shuffle(kept)
    g.add("Einsum", [x, g.weight(w)], equation=f"{letters},{other}->{''.join(kept)}")


def spreading(g: RandomGraph) -> None:
    x, r = g.pick((1, 2, 3, 4)), g.draw
    if x is None:
        return
    shape = g.values[x].shape
    match r.randrange(4):
        case 0:
            target = [r.choice((n, 1)) if n == 1 else n for n in shape]
            g.add("Expand", [x, g.weight([*([2] if len(shape) < 4 else []), *target], np.int64)])
        case 1:
            g.add("Tile", [x, g.weight([r.choice((1, 1, 2, 3)) for _ in shape], np.int64)])
        case 2:
            axes = sorted(r.sample(range(len(shape) + 1), 1))
            g.add("Unsqueeze", [x, g.weight(axes, np.int64)])
        case _:
            ones = [i for i, n in enumerate(shape) if n == 1]
            if ones and len(shape) > 1:
                g.add("Squeeze", [x, g.weight([r.choice(ones)], np.int64)])


def gathering(g: RandomGraph) -> None:
    """Reads and writes by index, at build time or at run time."""
    x, r = g.pick((2, 3, 4)), g.draw
    if x is None:
        return
    shape = g.values[x].shape
    axis = r.randrange(len(shape))

    def indices(limit: int, size: tuple[int, ...]) -> str:
        data = g.arrays.integers(-limit, limit, size)
        return g.input(data) if r.random() < 0.4 else g.weight(data)

    match r.randrange(4):
        case 0:
            size = tuple(r.randrange(1, n + 1) for n in shape)
            g.add("GatherElements", [x, indices(shape[axis], size)], axis=axis)
        case 1:
            g.add("GatherND", [x, indices(shape[0], (r.choice((1, 3)), 1))])
        case 2:
            # Equal indices may be written in any order: those are different.
            rows = g.arrays.permutation(shape[0])[: r.randrange(1, shape[0] + 1)].reshape(-1, 1)
            updates = g.weight(g.normal(len(rows), *shape[1:]))
            g.add("ScatterND", [x, g.input(rows) if r.random() < 0.4 else g.weight(rows), updates])
        case _:
            size = (*shape[:axis], r.randrange(1, shape[axis] + 1), *shape[axis + 1 :])
            where = np.broadcast_to(
                np.arange(size[axis]).reshape([-1 if d == axis else 1 for d in range(len(size))]), size
            )
            g.add("ScatterElements", [x, g.weight(where.copy(), np.int64), g.weight(g.normal(*size))], axis=axis)


def scanning(g: RandomGraph) -> None:
    x, r = g.pick((1, 2, 3, 4)), g.draw
    if x is None:
        return
    shape = g.values[x].shape
    axis = r.randrange(len(shape))
    match r.randrange(2):
        case 0:
            flags = {"exclusive": r.choice((0, 1)), "reverse": r.choice((0, 1))}
            g.add("CumSum", [x, g.weight(axis, np.int64)], **flags)
        case _:
            g.add("Trilu", [x], upper=r.choice((0, 1)))


def norms(g: RandomGraph) -> None:
    x, r = g.pick((3, 4)), g.draw
    if x is None:
        return
    a = g.values[x]
    c = a.shape[1]
    match r.randrange(4):
        case 0:
            g.add("LRN", [x], size=r.choice((1, 3, 5)), alpha=0.01)
        case 1:
            axis = r.randrange(a.ndim)
            # What is nearly constant, or zero, becomes any number at all.
            if np.abs(a).sum(axis).min() > 0.05:
                g.add("LpNormalization", [x], axis=axis, p=r.choice((1, 2)))
        case 2:
            axes = sorted(r.sample(range(a.ndim), 2))
            if a.std(tuple(axes)).min() > 0.05:
                g.add("MeanVarianceNormalization", [x], axes=axes)
        case _:
            moments = [g.normal(c), g.normal(c), g.normal(c), np.abs(g.normal(c)) + np.float32(0.5)]
            g.add("BatchNormalization", [x, *(g.input(a) if r.random() < 0.3 else g.weight(a) for a in moments)])


def mapping(g: RandomGraph) -> None:
    """Functions of one value with parameters, some of them inputs."""
    x, r = g.pick(), g.draw
    if x is None:
        return
    a = g.values[x]
    match r.randrange(6):
        case 0:
            slope = g.normal(a.shape[-1])
            g.add("PRelu", [x, g.input(slope) if r.random() < 0.4 else g.weight(slope)])
        case 1:
            low, high = (g.weight(v, np.float32) for v in (-0.4, 0.7))
            g.add("Clip", [x, r.choice((low, "")), r.choice((high, ""))])
        case 2:
            (positive,) = g.add("Abs", [x]) or [""]
            if positive:
                g.add(r.choice(("Sqrt", "Identity")), [positive])
        case 3:
            g.add(r.choice(("Gelu", "Selu", "Celu", "ThresholdedRelu", "Softsign", "HardSigmoid", "Cos", "Atan")), [x])
        case 4 if a.ndim > 1:
            g.add("Flatten", [x], axis=r.randrange(a.ndim + 1))
        case _:
            for scaled in g.add("Mul", [x, g.weight(3.7, np.float32)]):
                op = r.choice(("Floor", "Ceil", "Round"))
                off = np.abs((g.values[scaled] + (0.5 if op == "Round" else 0) + 0.5) % 1 - 0.5)
                if off.size and off.min() < 1e-4:  # rounding errors would decide
                    return
                for rounded in g.add(op, [scaled]):
                    for whole in g.add("Cast", [rounded], to=r.choice((TensorProto.INT32, TensorProto.INT64))):
                        g.add("Cast", [whole], to=TensorProto.FLOAT)


MORE = {general_product: 4, einsum: 2, spreading: 3, gathering: 4, scanning: 2, norms: 3, mapping: 5}


def long_graph(seed: int) -> RandomGraph:
    """3 to 30 nodes."""
    return random_graph(seed, OPERATORS | MORE, 30 if seed % 3 == 0 else 14)
