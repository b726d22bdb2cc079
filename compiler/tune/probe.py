"""Schedules a kernel by some choices: whether they are legal and what they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from ..choices import Choices
from ..driver.cpu_target import CpuTarget
from ..driver.device_target import DeviceTarget
from ..driver.options import Options
from ..driver.targets import TARGETS
from ..errors import CannotExpress, InternalError, ScheduleError, WebnnCompileError
from ..ir.nodes import Kernel
from ..ir.printer import print_kernel
from ..schedule.schedule_cpu import schedule_cpu
from ..system.recursion import deep_recursion
from ..system.run_passes import ignore
from .time_limit import BUILD, time_limit


def probe(target: str, options: Options, naive: Kernel, placements: Sequence[Any], choices: Choices) -> str:
    """A hash of the scheduled kernel: equal ones need no second measurement. Raises ScheduleError, also for a fault of
    the compiler's: a search goes on."""
    try:
        with deep_recursion(), time_limit(BUILD):
            return sha256(_text(target, options, naive, placements, choices).encode()).hexdigest()
    except ScheduleError:
        raise
    except Exception as error:
        raise ScheduleError(explain(error)) from error


def explain(error: Exception) -> str:
    """The reason why a candidate cannot be built."""
    is_legal = isinstance(error, WebnnCompileError | ScheduleError)
    return str(error) if is_legal else f"a fault of webnn-compile: {type(error).__name__}: {error}"


def _text(target: str, options: Options, naive: Kernel, placements: Sequence[Any], choices: Choices) -> str:
    row = TARGETS[target]
    if isinstance(row, DeviceTarget):
        try:
            return row.backend(options, ignore).compile_kernel(naive, placements, choices).kernel.source
        except CannotExpress as reason:
            raise ScheduleError(str(reason)) from None
    if isinstance(row, CpuTarget) and row.facts is not None:
        return print_kernel(schedule_cpu(naive, row.facts(), choices), named=False)
    raise InternalError(f"target {target} cannot be tuned")
