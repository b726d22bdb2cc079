"""Quantised layers as JSON."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..quantization.result import Quantization


def quantization_data(q: Quantization) -> dict[str, Any]:
    """Errors that are no numbers are None: JSON has neither NaN nor infinities."""
    return {
        "form": q.form,
        "layers": [
            {
                "node": x.node,
                "operator": x.operator,
                "weights": x.form,
                "bytes": {"before": x.bytes[0], "after": x.bytes[1]},
                "error": finite(x.own),
                "error_in_model": finite(x.in_model),
                **({"kept": x.kept} if x.kept else {}),
            }
            for x in q.layers
        ],
        "outputs": {name: finite(error) for name, error in q.outputs.items()},
        "samples": q.samples,
        "equalized": q.equalized,
        "corrected": q.corrected,
        "top1": None
        if q.exact is None or q.accuracy is None
        else {"labelled": q.exact.of, "float32": q.exact.right, "quantized": q.accuracy.right},
    }


def finite(error: float | None) -> float | None:
    """A number that JSON has, else None."""
    return error if error is not None and isfinite(error) else None
