"""Lists what a model has that is not supported, with what to do about some of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..unsupported import Unsupported, named

_OF_STATE = "it keeps values from one run to the next: convert the form of the model that takes and returns them"
_ADVICE = {
    "coreml_update_state": _OF_STATE,
    "custom": "its code is not in the file: replace it by layers of Core ML",
    "read_state": _OF_STATE,
    "write_state": _OF_STATE,
}


def collect(model: str, kinds: Mapping[str, Sequence[str]], noun: str) -> Unsupported:
    """The list for the model of a name, which begins with `kinds`: the names of parts that are not taken, by kind."""
    found = Unsupported(
        model, noun, "Replace or remove these in the model, or convert the model that it was made from to ONNX."
    )
    found.add_kinds({kind: names for kind, names in kinds.items() if kind not in _ADVICE})
    for kind in sorted(kinds.keys() & _ADVICE.keys()):
        found.add(f"{kind}: {named(kinds[kind], noun)}; {_ADVICE[kind]}")
    return found
