"""The text of a fragment shader that draws to all layers at once, equal to that of `webgl/split_outputs.js`."""

from __future__ import annotations

from ..errors import InternalError
from ..program.device_program import DeviceKernel


def compose(kernel: DeviceKernel) -> str:
    """The declarations of a kernel's shader, and its source."""
    if (d := kernel.declarations) is None:
        raise InternalError(f"kernel {kernel.name}: its shader has no declarations")
    return "\n".join(
        (
            "#version 300 es",
            "precision highp float;",
            "precision highp int;",
            *(f"precision highp {sampler};" for sampler in sorted(set(d.samplers))),
            *(f"uniform {sampler} p{i};" for i, sampler in enumerate(d.samplers)),
            *(f"uniform int s{i};" for i in range(len(kernel.scalars))),
            *(
                f"layout(location = {i}) out {d.output} o{i};"
                for i in range(kernel.grid_of([0] * len(kernel.scalars))[2])
            ),
            kernel.source,
        )
    )
