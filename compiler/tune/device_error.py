"""Errors of calls on a device."""

from __future__ import annotations


class DeviceError(Exception):
    """A call on a device failed: `kind` is "device" (it could not do it: the message says why), "timeout" or "lost"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class DeviceGone(DeviceError):
    """The device is lost, and has not come back: no candidate can be measured any more."""

    def __init__(self, message: str) -> None:
        super().__init__("lost", message)
