"""Some hundred cases with fixed seeds; `make fuzz` tries others for as long as one likes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from effort import FUZZ_CASES, effort_of
from fuzz.campaign import Campaign
from fuzz.case import Case
from fuzz.check_case import check_case
from fuzz.check_model import REFERENCE
from fuzz.pool import Pool

FOLDER = Path(__file__).resolve().parents[2] / "build" / "fuzz"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(check_case, 1, 60, reference=REFERENCE) as made:
        yield made


@pytest.mark.parametrize("kind", FUZZ_CASES["all"])
def test_fixed_seeds(pool: Pool, kind: str, request: pytest.FixtureRequest) -> None:
    campaign = Campaign(pool, FOLDER, shrink_seconds=20)
    count = FUZZ_CASES[effort_of(request.config)][kind]
    found = campaign.run(Case(kind, seed) for seed in range(count))
    assert not found, campaign.summary()
    if missing := campaign.outcomes[kind]["no browser"]:
        reason = f"{missing} cases of {count} need a browser that is not installed: .ci/browsers"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
