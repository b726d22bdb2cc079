"""Checks that a kernel's forms are those of its loops."""

from __future__ import annotations

from collections.abc import Iterator

from ..forms import Form, Transform, entries, form_of_nest, forms_of
from ..nest import Nest, Pointwise, nests
from ..nodes import Const, Kernel
from .place import shown


def check_forms(kernel: Kernel) -> Iterator[str]:
    """Problems of a naive kernel's forms: of each nest that stores to a result, but for those that fill halos."""
    if len(kernel.forms) != kernel.outputs:
        yield f"it has {len(kernel.forms)} forms for {kernel.outputs} results"
        return
    forms = forms_of(kernel)
    for nest in nests(kernel.body):
        form = forms.get(nest.store.buffer)
        if form is not None and not _fits(form, nest):
            yield f"{nest.store.buffer!r} is a {form}, but its loops are a {form_of_nest(nest)}: {shown(nest.store)}"


def _fits(form: Form, nest: Nest) -> bool:
    if isinstance(nest, Pointwise) and isinstance(nest.store.value, Const):
        return True
    if not isinstance(form, Transform) or isinstance(nest, Pointwise):
        return form == form_of_nest(nest)
    # A band of an image may have fewer rows than a tile, or a single one.
    product = entries(nest.value)
    if product is None or nest.op != "+" or set(product[1]) != set(nest.over):
        return False
    matrices = (form.rows, form.columns)
    return all(product[1][v].matrix[: len(m)] == m for v, m in zip(nest.over, matrices, strict=True))
