"""The forms of a kernel's results as text, for programs and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.contraction import Contraction as Product
from ..ir.contraction import find_contraction, loaded_operand
from ..ir.forms import Contraction, forms_of
from ..ir.nest import Reduction, nests
from ..ir.nodes import Binary, Buffer, Expr, Kernel
from ..ir.rewrite import loads, walk
from ..ir.scalar_ops import DOTS
from ..tensor import Tensor
from ..tensor.widen_in_registers import NARROW


def describe_forms(naive: Kernel, reads: Sequence[Tensor]) -> tuple[str, ...]:
    """The forms of a kernel that `reads` these tensors. An operand of a product that is computed from constants of few
    bits is named by the type of their elements: "contraction of float32 and uint4 in float32"."""
    forms = forms_of(naive)
    texts = {b: str(form) for b, form in forms.items()}
    few_bits = {b: name for b, t in zip(naive.params, reads, strict=False) if (name := _few_bits(t)) is not None}
    for nest in nests(naive.body) if few_bits else ():
        form = forms.get(nest.store.buffer)
        if isinstance(form, Contraction) and isinstance(nest, Reduction):
            product = find_contraction(nest.loops, nest.over, nest.value)
            assert product is not None
            texts[nest.store.buffer] = f"contraction of {_types(product, form, few_bits)}"
    return tuple(texts.values())


def _types(product: Product, form: Contraction, few_bits: Mapping[Buffer, str]) -> str:
    """Types of operands and sums; of integer products by blocks, whose sums have scales, the operands in a block."""
    for n in walk(product.a):
        if isinstance(n, Binary) and n.op in DOTS:
            elements = {word: e for e, word in DOTS[n.op].words.items()}
            words = _stored(n.a, few_bits) or DOTS[n.op].a
            return f"{elements.get(n.b.dtype, n.b.dtype)} and {words} in int32 and {form.sum}"
    a, b = _stored(product.a, few_bits) or form.a, _stored(product.b, few_bits) or form.b
    return f"{a} and {b} in {form.sum}"


def _few_bits(t: Tensor) -> str | None:
    """The type of the elements of a constant of few bits."""
    if t.packs is not None:
        return t.packs
    return t.dtype.name if t.is_constant and t.dtype.bits <= NARROW else None


def _stored(operand: Expr, few_bits: Mapping[Buffer, str]) -> str | None:
    """The type of the elements in memory that `operand` is computed from: the most numerous, where they have scales and
    zero points. None where it is loaded as it is."""
    if loaded_operand(operand) is not None:
        return None
    most = max((x.buffer for x in loads(operand)), key=lambda b: b.size, default=None)
    return None if most is None else few_bits.get(most)
