"""Matrix products, as one contraction each."""

from __future__ import annotations

from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, is_one, shown
from ...tensor import Tensor, compute
from ..broadcast import broadcast_element, broadcast_shape, spread_input
from ..call import Call
from ..quantisation.zero_points import ZeroPointAt, factor, less_zero_point, zero_point
from ..reductions.reduce_axes import reduce_over


def gemm(call: Call) -> Tensor:
    """ONNX Gemm: alpha * A' B' + beta * C, with C broadcast to (M, N)."""
    a, b = call.input(0), call.input(1)
    trans_a, trans_b = call.attribute("transA", 0) != 0, call.attribute("transB", 0) != 0
    if a.rank != 2 or b.rank != 2:
        raise call.unsupported(f"its operands have {a.rank} and {b.rank} dimensions, not 2", "the model is invalid")
    rows, depth = a.shape[::-1] if trans_a else a.shape
    have, columns = b.shape[::-1] if trans_b else b.shape
    _check_depth(call, a, b, depth, have)

    def body(m: Expr, n: Expr) -> Expr:
        return reduce_over(
            "sum", (depth,), lambda k: (a[k, m] if trans_a else a[m, k]) * (b[n, k] if trans_b else b[k, n])
        )

    product = compute(call.name, (rows, columns), (a, b), body)
    alpha = _factor(call, "alpha", product)
    beta = _factor(call, "beta", product)
    c = spread_input(call, 2, product.shape) if beta else None
    if c is None and alpha == 1:
        return product

    def finish(m: Expr, n: Expr) -> Expr:
        value = product[m, n] if alpha == 1 else product[m, n] * alpha
        if c is None:
            return value
        term = broadcast_element(c, (m, n))
        return value + (term if beta == 1 else term * beta)

    return compute(f"{call.name}.scaled", product.shape, (product, c), finish)


def _factor(call: Call, name: str, product: Tensor) -> float:
    value = call.attribute(name, 1.0)
    if not product.dtype.is_float and value != int(value):
        raise call.unsupported(f"{name} is {value} for integer operands", "use a whole number")
    return value if product.dtype.is_float else int(value)


def mat_mul(call: Call) -> Tensor:
    """ONNX MatMul: NumPy's matmul, with 1-D operands and broadcast batches."""
    return mat_mul_of(call, call.input(0), call.input(1))


def mat_mul_of(call: Call, a: Tensor, b: Tensor, name: str | None = None) -> Tensor:
    """The matrix product of any two tensors, by default under the name of the node: the sum over the last axis of a and
    the last but one of b, of 8 and 16 bits in int32."""
    if a.rank == 0 or b.rank == 0:
        raise call.unsupported("an operand is a scalar", "the model is invalid")
    depth = a.shape[-1]
    _check_depth(call, a, b, depth, b.shape[-2] if b.rank > 1 else b.shape[0])
    batch = broadcast_shape(call, [a.shape[:-2], b.shape[:-2]])
    rows, columns = a.shape[-2:-1], b.shape[-1:] if b.rank > 1 else ()

    def body(*i: Expr) -> Expr:
        outer, m, n = i[: len(batch)], i[len(batch) : len(batch) + len(rows)], i[len(batch) + len(rows) :]
        left, right = _batch_index(a, outer), _batch_index(b, outer)
        return reduce_over("sum", (depth,), lambda k: factor(a.read((*left, *m, k))) * factor(b.read((*right, k, *n))))

    return compute(name or call.name, (*batch, *rows, *columns), (a, b), body)


def mat_mul_integer(call: Call) -> Tensor:
    """ONNX MatMulInteger: 8-bit operands less their zero points (scalar, or per row of A and column of B), in int32."""
    return integer_mat_mul_of(call, (0, 1), (2, 3))


def integer_mat_mul_of(call: Call, operands: tuple[int, int], zeros: tuple[int, int]) -> Tensor:
    """The matrix product of the integer inputs with these numbers, less their zero points."""
    a, b = (call.input(i) for i in operands)
    a_zero, b_zero = (_zero_point(call, i, t) for i, t in zip(zeros, (a, b), strict=True))

    def along(axis: int) -> ZeroPointAt:
        # A 1-D zero point has one value per row (or column); one of full rank has extent 1 along the depth.
        return lambda index, zero: broadcast_element(zero, (index[axis],) if zero.rank == 1 else tuple(index))

    left = less_zero_point(f"{call.name}.a", a, a_zero, along(-2))
    right = less_zero_point(f"{call.name}.b", b, b_zero, along(-1))
    return mat_mul_of(call, left, right)


def _zero_point(call: Call, index: int, operand: Tensor) -> Tensor | None:
    """The zero point of `operand`: scalar, for each row or column of a matrix, or of the operand's rank."""
    zero = zero_point(call, index)
    if zero is not None and zero.rank not in ((0, 1, operand.rank) if operand.rank > 1 else (0,)):
        raise call.unsupported(
            f"input {index} ({zero.name!r}) has shape {shown(zero.shape)}, its operand {shown(operand.shape)}",
            "the model is invalid: export it again",
        )
    return zero


def _batch_index(t: Tensor, outer: tuple[Expr, ...]) -> tuple[Expr, ...]:
    extents = t.shape[:-2]
    own = outer[len(outer) - len(extents) :]
    return tuple(Const(0) if is_one(extent) else i for extent, i in zip(extents, own, strict=True))


def _check_depth(call: Call, a: Tensor, b: Tensor, left: Size, right: Size) -> None:
    reason = f"shapes {shown(a.shape)} and {shown(b.shape)} do not multiply"
    call.check_equal(left, right, reason, "check the shapes given to the model")


OPERATORS = {"Gemm": gemm, "MatMul": mat_mul, "MatMulInteger": mat_mul_integer}
