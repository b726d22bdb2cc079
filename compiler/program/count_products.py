"""How many products a run computes, by the types of their operands and sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .device_program import HostCall
from .device_program import Launch as DeviceLaunch
from .program import Launch

CONTRACTION = "contraction of "
"""Beginning of the text of a form of `ir/forms`."""


def count_products(steps: Iterable[Launch | DeviceLaunch | HostCall]) -> dict[str, int]:
    """By texts such as "int8 and int8 in int32", the most first."""
    forms = (form for s in steps if not isinstance(s, HostCall) for form in s.forms)
    kinds = Counter(form.removeprefix(CONTRACTION) for form in forms if form.startswith(CONTRACTION))
    return dict(kinds.most_common())
