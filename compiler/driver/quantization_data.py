"""Quantised layers as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..quantization.result import Quantization


def quantization_data(q: Quantization) -> dict[str, Any]:
    return {
        "form": q.form,
        "layers": [
            {
                "node": x.node,
                "operator": x.operator,
                "weights": x.form,
                "bytes": {"before": x.bytes[0], "after": x.bytes[1]},
                "error": x.own,
                "error_in_model": x.in_model,
                **({"kept": x.kept} if x.kept else {}),
            }
            for x in q.layers
        ],
        "outputs": dict(q.outputs),
        "samples": q.samples,
        "equalized": q.equalized,
        "corrected": q.corrected,
        "top1": None
        if q.exact is None or q.accuracy is None
        else {"labelled": q.exact.of, "float32": q.exact.right, "quantized": q.accuracy.right},
    }
