"""The best boxes of a detector, in a fixed number of places."""

from __future__ import annotations

from collections.abc import Sequence

from ...dtypes import F32, I32
from ...ir.construct import maximum, minimum, select
from ...ir.nodes import Const, Expr, Scalar
from ...tensor import Tensor, compute, reduce
from ...tensor.structure import loop
from ..call import Call
from .keys import within

AT_ONCE = 8
"""So many boxes are chosen before it is asked whether any is left, for which a GPU has to be waited for."""


def _select_boxes(call: Call) -> tuple[Tensor, ...]:
    """The `most` boxes (x, y, width, height) with the highest scores above `threshold`, best first, without those that
    overlap a better one of their class by more than the share `overlap` of their union: boxes [most, 4], scores and
    classes [most], all zero in places that are left."""
    call.check_dtypes((0, 1), F32)
    call.check_dtypes((2,), I32)
    boxes = call.input(0, (None, 4))
    scores, classes = call.input(1, boxes.shape[:1]), call.input(2, boxes.shape[:1])
    threshold, overlap = max(call.attribute("threshold", 0.25), 0.0), call.attribute("overlap", 0.5)
    most = call.attribute("most", 1)
    (n,) = call.fixed(boxes, (0,))
    name, steps = call.name, -(-min(most, n) // AT_ONCE)

    def overlaps(i: Expr, j: Expr) -> Expr:
        """Whether two boxes of a class overlap too much."""
        (x, y, w, h), (x2, y2, w2, h2) = ([boxes[at, Const(k)] for k in range(4)] for at in (i, j))
        width = maximum(minimum(x + w, x2 + w2) - maximum(x, x2), 0.0)
        height = maximum(minimum(y + h, y2 + h2) - maximum(y, y2), 0.0)
        common = width * height
        return classes[i,].eq(classes[j,]) & (common > (w * h + w2 * h2 - common) * overlap)

    def pick(_: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        left = carried[0]
        best = compute(f"{name}.score", (), (left,), lambda: reduce("max", (n,), lambda i: left[i,]))

        def place() -> Expr:
            return reduce("min", (n,), lambda i: select(left[i,].eq(best.read(())), i, n))

        chosen = compute(f"{name}.chosen", (), (left, best), place)

        def stays(i: Expr) -> Expr:
            box = within(chosen.read(()), n)
            return select(i.eq(box) | overlaps(box, i), 0.0, left[i,])

        remaining = compute(f"{name}.left", (n,), (left, chosen, boxes, classes), stays)
        return [remaining], [_texel(f"{name}.place", chosen), _texel(f"{name}.best", best)]

    def turn(_: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        left, turns = carried[0], carried[2]
        (remaining,), rows = loop(f"{name}.picks", AT_ONCE, [left], pick)
        any_left = compute(f"{name}.any", (), (remaining,), lambda: reduce("max", (n,), lambda i: remaining[i,]))
        going = compute(f"{name}.going", (), (any_left,), lambda: any_left.read(()) > 0.0)
        return [remaining, going, compute(f"{name}.turn", (), (turns,), lambda: turns.read(()) + 1)], list(rows)

    def start(i: Expr) -> Expr:
        return select(scores[i,] > threshold, scores[i,], 0.0)

    starts = [
        compute(f"{name}.above", (n,), (scores,), start),
        compute(f"{name}.start", (), (), lambda: Const(0).eq(0)),
        compute(f"{name}.none", (), (), lambda: Const(0)),
    ]
    (*_, turned), (places, bests) = loop(name, steps, starts, turn, condition=1)

    def at(k: Expr) -> tuple[Expr, ...]:
        k = minimum(k, steps * AT_ONCE - 1)
        return k // AT_ONCE, k % AT_ONCE, Const(0)

    def there(k: Expr) -> Expr:
        """Whether place `k` is taken."""
        step, *_ = at(k)
        return (k < steps * AT_ONCE) & (step < turned.read(())) & (bests.read(at(k)) > 0.0)

    def taken(t: Tensor, k: Expr, *more: Expr) -> Expr:
        return select(there(k), t.read((within(places.read(at(k)), n), *more)), Const(0).cast(t.dtype))

    reads = (places, bests, turned)
    return (
        compute(f"{name}.boxes", (most, 4), (boxes, *reads), lambda k, c: taken(boxes, k, c)),
        compute(f"{name}.scores", (most,), (bests, turned), lambda k: select(there(k), bests.read(at(k)), 0.0)),
        compute(f"{name}.classes", (most,), (classes, *reads), lambda k: taken(classes, k)),
    )


def _texel(name: str, t: Tensor) -> Tensor:
    """A scalar, four times: textures have rows of whole texels."""
    return compute(name, (4,), (t,), lambda _: t.read(()))


OPERATORS = {"SelectBoxes": _select_boxes}
