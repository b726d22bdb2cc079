"""A compiled model in this process that takes pictures as other libraries have them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..errors import InputError
from ..program.pass_states import PassingStates
from ..program.shown_model import Shown

Array = np.ndarray


class Runnable(Protocol):
    backend: str

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]: ...


class TakingPictures(PassingStates):
    """`model`, or a session of it, with all that this has, and bytes in place of the words of `pictures`, its inputs
    that pictures fill; it takes words as well."""

    def __init__(self, model: Runnable, pictures: Collection[str]) -> None:
        self.model: Any = model
        self._pictures = pictures

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of a copy that has no model yet
            raise AttributeError(name)
        return getattr(self.model, name)

    def shown(self) -> Shown:
        shown = super().shown()
        return replace(shown, inputs={**shown.inputs, **dict.fromkeys(self._pictures, "a picture")})

    def run(self, inputs: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        """As that of the model. Raises InputError for inputs that do not fit."""
        if isinstance(inputs, Mapping):
            inputs = {name: words_of(name, a) if name in self._pictures else a for name, a in inputs.items()}
        results: dict[str, Any] = self.model.run(inputs, **options)
        return results


def words_of(name: str, picture: object) -> object:
    """Words int32 [height, width] of a picture of bytes [height, width, 4], red, green, blue and alpha, or of [height,
    width, 3] without alpha; words and arrays of other libraries as they are. Raises InputError for others."""
    if not isinstance(picture, np.ndarray):
        if hasattr(picture, "__dlpack__"):
            return picture
        raise _unfit(name, type(picture).__name__)
    if picture.dtype == np.int32 and picture.ndim == 2:
        return picture
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] not in (3, 4):
        raise _unfit(name, f"{picture.dtype}{list(picture.shape)}")
    pixels = np.full((*picture.shape[:2], 4), 255, np.uint8)
    pixels[..., : picture.shape[2]] = picture
    return pixels.view(np.int32)[..., 0]


def _unfit(name: str, given: str) -> InputError:
    return InputError(
        f"input {name!r}: expected a picture, an array uint8[height, width, 4] of red, green, blue and alpha, "
        f"uint8[height, width, 3] without alpha, or int32[height, width] of words; got {given}"
    )
