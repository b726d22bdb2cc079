"""A check that fails in every way, for the tests of the pool: the seed says how."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from fuzz.case import Case, Outcome

FINE, CRASH, HANG, CRASH_OF_REFERENCE, EXCEPTION, LOOP = range(6)


def faulty_check(case: Case, phase: Callable[[str], None]) -> Outcome:
    phase("reference" if case.seed == CRASH_OF_REFERENCE else "compile")
    match case.seed:
        case 1 | 3:
            os.write(2, b"last words")
            os.abort()
        case 2:
            time.sleep(600)
        case 4:
            raise KeyError("of the harness")
        case 5:
            while True:
                pass
    return Outcome("fine")
