"""The page of a build, by what its processor reaches here."""

from __future__ import annotations

from functools import cache

from ..driver.options import Options
from ..driver.report_data import Report
from .describe_build import describe_build
from .page_data import Peak
from .render_page import render_page


def make_page(report: Report, options: Options) -> str:
    """The page of a build."""
    return render_page(describe_build(report, options, _measure))


@cache
def _measure(lanes: int) -> Peak:
    from ..native.jit import host_target
    from ..native.measure_peak import measure_peak

    found = measure_peak(min(lanes, host_target().lanes))
    return Peak(found.gflops, found.gbytes, measured=True)
