"""The tokens that end a text, by the files that stand beside a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

FILES = ("generation_config.json", "config.json", "tokenizer_config.json")
"""The first that says it counts."""


def end_tokens(folders: Iterable[Path], added: Mapping[str, int], vocabulary: int) -> tuple[int, ...]:
    """The tokens of `eos_token_id`, or of `eos_token`, which a tokenizer has `added`. A number that is no token of the
    vocabulary is none, and a file that is no JSON of this form says nothing."""
    folders = tuple(folders)
    for name in FILES:
        for folder in folders:
            found = tuple(n for n in _tokens(_read(folder / name), added) if 0 <= n < vocabulary)
            if found:
                return found
    return ()


def _tokens(settings: Mapping[str, Any], added: Mapping[str, int]) -> Iterator[int]:
    ids = settings.get("eos_token_id")
    yield from (n for n in (ids if isinstance(ids, list) else [ids]) if type(n) is int)
    token = settings.get("eos_token")
    text = token.get("content") if isinstance(token, Mapping) else token
    if isinstance(text, str) and text in added:
        yield added[text]


def _read(path: Path) -> Mapping[str, Any]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, Mapping) else {}
