"""Device programs of bundles, their tables as lists of rows."""

from __future__ import annotations

import json
from itertools import accumulate, zip_longest
from typing import Any

from webnn_compile.bundle.render_device import DIFFERENCES

TABLES = ("kernels", "storages", "values", "constants", "launches")


def read_program(text: str | bytes) -> Any:
    """The runtime has the same in device_program.js."""
    program = json.loads(text)
    read = {**program, **{table: _rows(program[table]) for table in TABLES}}
    last = 0
    for launch in read["launches"]:
        launch.setdefault("name", read["kernels"][launch["kernel"]]["name"])
        launch["arguments"] = [last + difference for difference in launch["arguments"]]
        last = launch["arguments"][-1]
    return read


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    whole = {name: list(accumulate(fields)) if name in DIFFERENCES else fields for name, fields in columns.items()}
    return [
        {name: field for name, field in zip(whole, fields, strict=True) if field is not None}
        for fields in zip_longest(*whole.values())  # what follows the last field of a column is left out
    ]
