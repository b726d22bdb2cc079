"""Schedules a kernel by choices, and handles choices that are not legal."""

from __future__ import annotations

from collections.abc import Callable

from ..choices import DEFAULT, Choices, First, Replay
from ..errors import InternalError, ScheduleError
from ..ir.nodes import Kernel


def schedule_by(schedule: Callable[[Choices], Kernel], choices: Choices, name: str) -> Kernel:
    """The kernel `name` as scheduled by `choices`.

    A record that does not fit the kernel, from another version of the compiler, is ignored: the kernel gets its default
    schedule. Raises InternalError where the default schedule is illegal, and ScheduleError where other choices are: a
    search skips them.
    """
    try:
        return schedule(choices)
    except ScheduleError as error:
        if isinstance(choices, First):
            raise InternalError(f"schedule of kernel {name}: {error}") from error
        if not isinstance(choices, Replay):
            raise
    return schedule_by(schedule, DEFAULT, name)
