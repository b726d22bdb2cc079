"""Sizes of a run by the shapes of its arrays."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext

import numpy as np
import pytest
from size_cases import SizeCase, SizeModel, size_models
from webnn_compile.dtypes import F32
from webnn_compile.errors import InputError
from webnn_compile.ir.nodes import Scalar
from webnn_compile.program.dimensions import Dimension
from webnn_compile.program.program import TensorSpec
from webnn_compile.values.bind_sizes import bind_sizes


@pytest.mark.parametrize(
    ("model", "case"),
    [(m, c) for m in size_models() for c in m.cases],
    ids=lambda v: f"{v.shapes}-{v.elements}" if isinstance(v, SizeCase) else None,
)
def test_cases(model: SizeModel, case: SizeCase) -> None:
    arrays = [np.full(shape, element) for shape, element in zip(case.shapes, case.elements, strict=True)]
    names = "|".join(json.dumps(t.name) for t in model.inputs)
    message = case.error and re.sub(names, lambda m: repr(json.loads(m[0])), case.error)
    with pytest.raises(InputError, match=f"^{re.escape(message)}$") if message else nullcontext():
        found = bind_sizes(model.dimensions, model.inputs, arrays)
        assert tuple(found[d.scalar] * d.multiple for d in model.dimensions) == case.sizes


def test_an_extent_that_follows_from_others() -> None:
    s, p = Scalar("S", 10), Scalar("P", 10)
    dimensions = [Dimension("S", s), Dimension("P", p)]
    specs = [TensorSpec(name, F32, shape, 0) for name, shape in (("x", (s, p)), ("y", (s + p,)))]
    with pytest.raises(InputError) as raised:
        bind_sizes(dimensions, specs, [np.zeros((2, 3), np.float32), np.zeros(6, np.float32)])
    assert str(raised.value) == (
        "input 'y': expected float32[S + P], here [5] (S is 2 by input 'x' of shape [2, 3]; "
        "P is 3 by input 'x' of shape [2, 3]), got float32[6]"
    )
