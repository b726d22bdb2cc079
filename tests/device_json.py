"""Device programs of bundles, their tables as lists of rows."""

from __future__ import annotations

import json
from typing import Any

TABLES = ("kernels", "storages", "values", "constants", "launches")


def read_program(text: str | bytes) -> Any:
    program = json.loads(text)
    return {**program, **{table: _rows(program[table]) for table in TABLES}}


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """As the runtime makes them (device_program.js)."""
    return [
        {name: field for name, field in zip(columns, fields, strict=True) if field is not None}
        for fields in zip(*columns.values(), strict=True)
    ]
