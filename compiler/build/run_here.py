"""Runs what was built for a device on this machine."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from ..device.device_model import DeviceModel
    from ..program.device_program import DeviceProgram


def run_here(program: DeviceProgram, weights: bytes) -> DeviceModel:
    """A device program on this machine's GPU, or what stands for one. Raises InputError where there is none, or one
    that lacks what the program needs."""
    from ..device.device_model import Device, DeviceModel
    from ..native.model import NativeModel

    device: Device
    if program.backend == "webgl":
        from ..glsl.device import GlesDevice

        device = GlesDevice(program.kernels)
    else:
        if importlib.util.find_spec("wgpu") is None:
            raise InputError("target webgpu needs the package wgpu: pip install 'webnn-compile[webgpu]'")
        from ..wgsl.device import WgpuDevice

        device = WgpuDevice(program.kernels)
    return DeviceModel(program, weights, device, None if program.host is None else NativeModel(program.host))
