"""A few hundred cases with fixed seeds; `make fuzz` tries others for as long as one likes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.campaign import Campaign
from fuzz.case import Case
from fuzz.check_case import check_case
from fuzz.check_model import REFERENCE
from fuzz.pool import Pool

FOLDER = Path(__file__).resolve().parents[2] / "build" / "fuzz"
SEEDS = {
    "bytes": range(100),
    "protobuf": range(240),
    "nodes": range(500),
    "graphs": range(16),
    "quanta": range(16),
    "names": range(3),
    "page": range(30),
}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(check_case, 1, 60, reference=REFERENCE) as made:
        yield made


@pytest.mark.parametrize("kind", SEEDS)
def test_fixed_seeds(pool: Pool, kind: str) -> None:
    campaign = Campaign(pool, FOLDER, shrink_seconds=20)
    found = campaign.run(Case(kind, seed) for seed in SEEDS[kind])
    assert not found, campaign.summary()
    if missing := campaign.outcomes[kind]["no browser"]:
        reason = f"{missing} cases of {len(SEEDS[kind])} need a browser that is not installed: .ci/browsers"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
