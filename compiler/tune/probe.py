"""Schedules a kernel by some choices, to see whether they are legal and what they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from ..build.cpu_target import CpuTarget
from ..build.device_target import DeviceTarget
from ..build.options import Options
from ..build.targets import TARGETS
from ..choices import Choices
from ..errors import CannotExpress, InternalError, ScheduleError
from ..ir.nodes import Kernel
from ..ir.printer import print_kernel
from ..schedule.schedule_cpu import schedule_cpu
from ..system.recursion import deep_recursion
from ..system.run_passes import ignore


@deep_recursion()
def probe(target: str, options: Options, naive: Kernel, placements: Sequence[Any], choices: Choices) -> str:
    """A hash of the scheduled kernel: equal ones need no second measurement. Raises ScheduleError."""
    row = TARGETS[target]
    if isinstance(row, DeviceTarget):
        try:
            text = row.backend(options, ignore).compile_kernel(naive, placements, choices).kernel.source
        except CannotExpress as reason:
            raise ScheduleError(str(reason)) from None
    elif isinstance(row, CpuTarget) and row.facts is not None:
        text = print_kernel(schedule_cpu(naive, row.facts(), choices), named=False)
    else:
        raise InternalError(f"target {target} cannot be tuned")
    return sha256(text.encode()).hexdigest()
