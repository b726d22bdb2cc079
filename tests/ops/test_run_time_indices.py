"""Indices that only the running model knows never lead outside of a tensor."""

from __future__ import annotations

import numpy as np
from op_table import Case, evaluate_case

X = np.arange(5, dtype=np.float32)


def test_gather_takes_the_nearest_element() -> None:
    indices = np.asarray([-99, -5, 4, 99])
    np.testing.assert_array_equal(evaluate_case(Case("g", "Gather", (X, indices)))[0], [0, 0, 4, 4])


def test_gather_elements_takes_the_nearest_element() -> None:
    indices = np.asarray([-99, 7])
    np.testing.assert_array_equal(evaluate_case(Case("g", "GatherElements", (X, indices)))[0], [0, 4])


def test_gather_nd_takes_the_nearest_element() -> None:
    indices = np.asarray([[-99], [7]])
    np.testing.assert_array_equal(evaluate_case(Case("g", "GatherND", (X, indices)))[0], [0, 4])


def test_scatter_drops_updates_for_nowhere() -> None:
    inputs = (X, np.asarray([7, -9, 1]), np.asarray([10, 20, 30], np.float32))
    np.testing.assert_array_equal(evaluate_case(Case("s", "ScatterElements", inputs))[0], [0, 30, 2, 3, 4])


def test_reverse_sequence_bounds_its_lengths() -> None:
    inputs = (X.reshape(5, 1).repeat(2, 1), np.asarray([99, -3]))
    (result,) = evaluate_case(Case("r", "ReverseSequence", inputs))
    np.testing.assert_array_equal(result, np.stack([X[::-1], X], 1))
