"""From tensors to naive kernels, by the layout policy of a device's backend."""

from __future__ import annotations

from ..codegen.device_backend import DeviceBackend
from ..pipeline.lower_model import lower_tensors
from ..pipeline.lowered import Lowered
from ..system.run_passes import Observer
from ..tensor.choose_device_tile import choose_device_tile
from ..tensor.layer_choices import LayerChoices, default_layers
from ..tensor.program import TensorProgram
from ..tensor.use_winograd import Choice


def lower_for_device(
    name: str,
    tensors: TensorProgram,
    backend: DeviceBackend,
    observe: Observer,
    opt_level: int = 2,
    *,
    fast_math: bool = True,
    choices: LayerChoices = default_layers,
    filters: int | None = None,
) -> Lowered:
    """`fast_math` allows convolutions by Winograd's algorithm, with so many bytes of `filters`. `choices` are those of
    layers."""
    choose = choice_for(backend) if fast_math else None
    layouts = backend.layouts
    return lower_tensors(name, tensors, observe, opt_level, layouts, choose, choices=choices, filters=filters)


def choice_for(backend: DeviceBackend) -> Choice:
    """The convolutions that a backend's device computes by Winograd's algorithm."""
    order = backend.layouts.windows
    assert order is not None
    return choose_device_tile(backend.costs, order, backend.fits)
