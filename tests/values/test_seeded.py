"""Values from a seed: the same in Python and in a page, and in their ranges."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from node_programs import ROOT, need
from webnn_compile.dtypes import BOOL, F16, F32, F64, I8, I32, I64, U8, DType
from webnn_compile.values.seeded import seeded_values, seeded_words

SEED = 0xFFFFFFF0
CASES: list[tuple[DType, tuple[int, int] | None]] = [
    (F16, None),
    (F32, None),
    (F64, None),
    (I32, None),
    (I64, (0, 30522)),
    (I32, (24, 1)),
    (I8, (-128, 256)),
    (U8, (0, 256)),
    (BOOL, (0, 2)),
]

SCRIPT = """
import { seededValues } from './runtime-js/bundle_page/seeded.js';
for (const [dtype, within] of JSON.parse(process.argv[1])) {
  const { buffer } = seededValues(dtype, [7, 300], 0xfffffff0, within ?? undefined);
  console.log(Buffer.from(buffer).toString('hex'));
}
"""


def test_a_page_makes_the_same_values() -> None:
    cases = json.dumps([(str(dtype), within) for dtype, within in CASES])
    command = [need("node"), "--input-type=module", "-e", SCRIPT, cases]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for (dtype, within), line in zip(CASES, done.stdout.split(), strict=True):
        assert bytes.fromhex(line) == seeded_values(dtype, (7, 300), SEED, within).tobytes(), (dtype, within)


@pytest.mark.parametrize(("dtype", "within"), CASES)
def test_values_are_in_their_ranges(dtype: DType, within: tuple[int, int] | None) -> None:
    values = seeded_values(dtype, (1000,), 3, within)
    assert values.dtype == dtype.numpy
    assert not np.array_equal(values, seeded_values(dtype, (1000,), 4, within)) or within == (24, 1)
    if within is not None:
        least, count = within
        assert least <= values.astype(np.int64).min() <= values.astype(np.int64).max() < least + count
    elif dtype.is_float:
        assert np.abs(values).max() <= 1
        assert abs(float(values.astype(np.float64).mean())) < 0.1


def test_words_depend_on_their_numbers_alone() -> None:
    words = seeded_words(4096, 1)
    assert np.array_equal(words[:100], seeded_words(100, 1))
    assert len(set(words.tolist())) > 4090
