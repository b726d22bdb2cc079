"""One measurement of choices on a device, as a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from sys import float_info
from typing import Any, Literal, get_args

from ..choices import VERSION, from_json

Kind = Literal["trial", "chosen"]
"""A candidate that was tried, or the one that a search ended with: better than the default in the whole model, too."""

Failure = Literal["illegal", "build", "limits", "wrong", "timeout", "lost"]
"""Why a candidate has no time: its choices do not fit together, it does not compile, it exceeds a limit of the device,
its results are wrong, it takes too long, or the device was lost."""

FORMAT = 1

MOST_LAUNCHES = 2**31
"""The most launches of a kernel in a run of a model."""


@dataclass(frozen=True, slots=True)
class TuningRecord:
    """`key` is that of records/keys, `space` the version of the choices' space; `model` and `kernel` are names for
    people. `ms` is the time of one launch by `choices`, `base` that of the default, measured in turns with it; a
    trial that failed has none. `launches` are those of a run of the model. `whole` is the time of the whole model by
    all chosen choices, in units of that by default."""

    kind: Kind
    key: str
    target: str
    device: str
    choices: Mapping[str, Any]
    model: str = ""
    kernel: str = ""
    launches: int = 1
    ms: float | None = None
    base: float | None = None
    whole: float | None = None
    failure: Failure | None = None
    message: str = ""
    space: int = VERSION

    @property
    def ratio(self) -> float | None:
        """The time in units of the default's."""
        return self.ms / self.base if self.ms is not None and self.base else None

    @property
    def candidate(self) -> str:
        """The choices, as text."""
        return json.dumps(self.choices, sort_keys=True)

    def to_line(self) -> str:
        """Without the fields that have their defaults, but for `space`."""
        values = asdict(self) | {"choices": dict(self.choices)}
        defaults = {f.name: f.default for f in fields(self)}
        kept = {k: v for k, v in values.items() if k == "space" or v != defaults[k]}
        return json.dumps({"record": FORMAT, **kept}, separators=(",", ":")) + "\n"


def parse_line(line: str) -> TuningRecord | None:
    """None for what is no record: the last line of a file whose writer was interrupted."""
    try:
        data = json.loads(line)
        json.dumps(data, ensure_ascii=False).encode()  # a ValueError for lone surrogates, which no text file holds
        if data.pop("record") != FORMAT:
            return None
        data["choices"] = {name: from_json(option) for name, option in data["choices"].items()}
        record = TuningRecord(**data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return record if _is_valid(record) else None


def _is_valid(r: TuningRecord) -> bool:
    numbers = all(x is None or _is_time(x) for x in (r.ms, r.base, r.whole))
    texts = all(isinstance(x, str) for x in (r.key, r.target, r.device, r.model, r.kernel, r.message))
    words = r.kind in get_args(Kind) and (r.failure is None or r.failure in get_args(Failure))
    return numbers and texts and words and type(r.launches) is int and 0 < r.launches <= MOST_LAUNCHES


def _is_time(x: object) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and 0 <= x <= float_info.max
