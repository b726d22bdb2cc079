"""The device of a target whose programs run in this process."""

from __future__ import annotations

from ..driver.device_target import DeviceTarget
from .device import Device
from .gpu_program import GpuDevice
from .native_program import NativeDevice
from .problem import Problem


def local_device(problem: Problem) -> Device:
    """Raises InputError where this machine has none."""
    return GpuDevice(problem.row) if isinstance(problem.row, DeviceTarget) else NativeDevice(problem.cache)
