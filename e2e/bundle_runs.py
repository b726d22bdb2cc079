"""Runs of a bundle in a page, on inputs of any dtype and shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

TO_ARRAY = """
  const toArray = ({ dtype, values }) =>
    ({ float32: () => Float32Array.from(values), int64: () => BigInt64Array.from(values, BigInt),
       bool: () => Uint8Array.from(values, Number) })[dtype]();
  const toInputs = (run) =>
    Object.fromEntries(Object.entries(run).map(([name, one]) => [name, { data: toArray(one), shape: one.shape }]));
"""

RUN = (
    TO_ARRAY
    + """
  const model = await bundle.load({ backend: argument.backend });
  const found = [];
  for (const run of argument.runs) {
    const outputs = Object.entries(await model.run(toInputs(run)));
    found.push(Object.fromEntries(outputs.map(([name, data]) =>
      [name, { shape: data.shape, values: Array.from(data, Number) }])));
  }
  const { backend, variant } = model.info();
  await model.dispose();
  return { found, backend, variant };
"""
)
"""Loads the bundle for `backend`, and runs it on each of `runs`, as `as_data` makes them."""


def as_data(given: Mapping[str, Array]) -> dict[str, Any]:
    return {n: {"dtype": a.dtype.name, "shape": a.shape, "values": a.ravel().tolist()} for n, a in given.items()}


def as_arrays(found: Mapping[str, Any], like: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs of a run, in the dtypes of `like`."""
    return {
        n: np.asarray(one["values"], like[n].dtype).reshape(one["shape"] or like[n].shape) for n, one in found.items()
    }
