"""Writes the page of a build."""

from __future__ import annotations

import secrets
from functools import cache
from pathlib import Path

from ..driver.options import Options
from ..driver.report_data import Report
from ..errors import InputError
from .describe_build import describe_build
from .page_data import Peak
from .render_page import render_page


def write_page(report: Report, options: Options, path: Path) -> None:
    """Writes all of the page or nothing. Raises InputError where it cannot be written."""
    text = render_page(describe_build(report, options, _measure))
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        try:
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"--report {path}: cannot be written: {error.strerror or error}") from None


@cache
def _measure(lanes: int) -> Peak:
    from ..native.jit import host_target
    from ..native.measure_peak import measure_peak

    found = measure_peak(min(lanes, host_target().lanes))
    return Peak(found.gflops, found.gbytes, measured=True)
