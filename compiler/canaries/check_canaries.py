"""Whether a device computes the kernels of a program rightly: each is launched once, and its result is compared."""

from __future__ import annotations

from math import prod

import numpy as np

from ..execution.arrange import arrange
from ..execution.device import Device
from ..program.device_program import Canary, DeviceProgram, Padding, Storage
from .canary_values import canary_sums, canary_values, is_right

Array = np.ndarray


def check_canaries(program: DeviceProgram, device: Device) -> tuple[Canary, ...]:
    """The canaries of `program` whose results are wrong on `device`, which was opened for its kernels, and has no
    storages yet; it is closed."""
    uploads = {c.value: c for c in program.constants}
    storages: list[Storage] = []
    loads: list[tuple[Canary, tuple[int, ...], list[Array | None]]] = []
    for canary in program.canaries:
        launch = program.launches[canary.launch]
        padding = {p.argument: p for p in canary.padding}
        insides: list[Array | None] = []
        for value, i in zip(launch.arguments, reversed(range(len(launch.arguments))), strict=True):
            storages.append(program.storages[program.values[value].storage])
            upload = uploads.get(value)
            if i not in padding and upload is not None and upload.dimensions is not None:
                padding[i] = Padding(i, upload.dimensions, upload.limits)
            insides.append(_inside(padding[i]) if i in padding else None)
        loads.append((canary, tuple(range(len(storages) - len(insides), len(storages))), insides))
    device.allocate(storages)
    wrong = []
    for canary, numbers, insides in loads:
        launch = program.launches[canary.launch]
        for i, (value, storage, inside) in enumerate(zip(launch.arguments[:-1], numbers, insides, strict=False)):
            v = program.values[value]
            count = prod(v.shape) if inside is None else inside.size
            number = len(numbers) - 1 - i
            filled = canary_values(v.dtype, count, number, canary.floats, integers=canary.integers)
            held = storages[storage].dtype.numpy
            device.write(storage, (filled if inside is None else np.where(inside, filled, 0)).astype(held))
        device.launch(launch.kernel, numbers, canary.scalars)
        inside, count = insides[-1], prod(program.values[launch.arguments[-1]].shape)
        result = device.read(numbers[-1])[: count if inside is None else inside.size]
        if not is_right(canary, *canary_sums(result, canary.most, inside)):
            wrong.append(canary)
    device.close()
    return tuple(wrong)


def _inside(p: Padding) -> Array:
    """Which elements of a storage are no padding."""
    size = 1 + sum((d.extent - 1) * d.stride for d in p.dimensions)
    return np.asarray(arrange(np.ones(size, bool), p.dimensions, p.limits))
