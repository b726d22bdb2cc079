"""The one message about all that a model has and that is not supported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import UnsupportedError

_SHOWN = 3
"""So many names are shown of each kind of problem."""

_ADVICE = {
    "read_state": "it keeps values from one run to the next: convert the form of the model that takes and returns them",
    "custom": "its code is not in the file: replace it by layers of Core ML",
}
_OF_STATE = ("coreml_update_state", "write_state")


def kinds(unsupported: Mapping[str, Sequence[str]], noun: str) -> list[str]:
    """A line for each kind of operation or layer, with the names of some; the most frequent first."""
    lines = []
    for kind, names in sorted(unsupported.items(), key=lambda item: (-len(item[1]), item[0])):
        shown = ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
        advice = _ADVICE.get("read_state" if kind in _OF_STATE else kind)
        counted = f"{len(names)} {noun}{'s' if len(names) > 1 else ''}"
        lines.append(f"{kind}: {counted} {shown}{f'; {advice}' if advice else ''}")
    return lines


def refuse(name: str, lines: Sequence[str]) -> UnsupportedError:
    listed = "".join(f"\n  {line}" for line in lines)
    return UnsupportedError(
        f"{name} needs what is not supported, {len(lines)} in all:{listed}\n"
        "Replace or remove these in the model, or convert the model that it was made from to ONNX."
    )
