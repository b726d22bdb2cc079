"""Schedules a kernel by choices that may not be legal."""

from __future__ import annotations

from collections.abc import Callable

from ..choices import Choices, First
from ..errors import InternalError, ScheduleError
from ..ir.nodes import Kernel


def schedule_by(schedule: Callable[[Choices], Kernel], choices: Choices, name: str) -> Kernel:
    """The kernel `name` as scheduled by `choices`.

    Raises InternalError where the default schedule is illegal, and ScheduleError where other choices are: a search
    skips them, a build takes the default.
    """
    try:
        return schedule(choices)
    except ScheduleError as error:
        if isinstance(choices, First):
            raise InternalError(f"schedule of kernel {name}: {error}") from error
        raise
