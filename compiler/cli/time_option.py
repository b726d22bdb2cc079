"""Times on the command line: 90s, 10m, 1h."""

from __future__ import annotations

import re

import click
from webnn_compile.rpc.messages import LONGEST_WAIT


class TimeOption(click.ParamType[float]):
    """Seconds, as a number or with a unit; no more than the broker accepts."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)?", str(value), re.ASCII)
        if match is None:
            self.fail(f"{value!r} is not a time such as 90s, 10m or 1h", param, ctx)
        seconds = float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2] or "s"]
        if seconds > LONGEST_WAIT:
            self.fail(f"{value!r} is longer than {LONGEST_WAIT} seconds", param, ctx)
        return seconds
