"""The options of `--report FILE.html`."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

import click

from ..driver.profiles import Profile, read_profile
from ..errors import InputError


class ProfileOption(click.ParamType[tuple[str, Profile]]):
    """TARGET=FILE.json."""

    name = "profile"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Profile]:
        target, _, file = str(value).partition("=")
        if not target or not file:
            self.fail(f"{value!r} is not of the form webgpu=FILE.json", param, ctx)
        try:
            return target, read_profile(Path(file))
        except InputError as error:
            self.fail(str(error), param, ctx)


class PeakOption(click.ParamType[tuple[str, tuple[float, float]]]):
    """TARGET=GFLOPS,GBYTES."""

    name = "peak"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[float, float]]:
        target, _, text = str(value).partition("=")
        try:
            gflops, gbytes = map(float, text.split(","))
        except ValueError:
            gflops = gbytes = 0.0
        if not target or not all(isfinite(n) and n > 0 for n in (gflops, gbytes)):
            self.fail(f"{value!r} is not of the form webgpu=GFLOPS,GBYTES, such as webgpu=8000,360", param, ctx)
        return target, (gflops, gbytes)
