"""Worker processes survive what they check, or are replaced."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from fuzz.case import Case
from fuzz.faulty_check import CRASH, CRASH_OF_REFERENCE, EXCEPTION, FINE, HANG, LOOP, faulty_check
from fuzz.pool import Pool


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(faulty_check, 1, 1, reference="reference") as made:
        yield made


@pytest.mark.parametrize(
    ("seed", "fault"),
    [
        (CRASH, "crashes with SIGABRT in phase 'compile'"),
        (HANG, "hangs in phase 'compile'"),
        (LOOP, "hangs in phase 'compile'"),
        (EXCEPTION, "crashes with exit code 1 in phase 'compile'"),
    ],
)
def test_what_a_worker_does_not_survive_is_a_fault(pool: Pool, seed: int, fault: str) -> None:
    assert pool.check(Case("bytes", seed)).fault == fault
    assert pool.check(Case("bytes", FINE)).result == "fine"


def test_what_a_crash_printed_is_kept(pool: Pool) -> None:
    assert "last words" in pool.check(Case("bytes", CRASH)).details
    assert "of the harness" in pool.check(Case("bytes", EXCEPTION)).details


def test_crash_of_the_reference_is_no_fault(pool: Pool) -> None:
    outcome = pool.check(Case("bytes", CRASH_OF_REFERENCE))
    assert (outcome.fault, outcome.result) == ("", "the reference crashed or hung")


def test_all_cases_come_back() -> None:
    with Pool(faulty_check, 2, 60) as pool:
        seeds = sorted(case.seed for case, _ in pool.check_all(Case("bytes", s) for s in (FINE, CRASH, FINE, 7, 8)))
    assert seeds == [FINE, FINE, CRASH, 7, 8]


def test_a_pool_ends_in_the_middle_of_a_case() -> None:
    """As where Ctrl-C interrupts: what is under way is not waited for."""
    with Pool(faulty_check, 1, 600) as pool:
        running = pool.check_all(Case("bytes", s) for s in (FINE, HANG))
        assert next(running)[0].seed == FINE
        hanging = pool._threads.submit(pool.check, Case("bytes", HANG))
        while pool._workers.qsize():
            time.sleep(0.01)
    assert hanging.result().fault.startswith("crashes with SIGKILL")
