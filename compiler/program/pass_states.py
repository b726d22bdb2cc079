"""States of a wrapper of a compiled model: they are those of the model."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, Self

import numpy as np

from .shown_model import Shown, ShownModel


class PassingStates(ShownModel):
    """A wrapper of `model`, or of a session: its states are those of the model, and its sessions are wrapped alike.
    Errors are those of the model's own methods."""

    model: Any

    def shown(self) -> Shown:
        """As the model: wrappers say what they take or give in place of its arrays."""
        shown: Shown = self.model.shown()
        return shown

    def reset(self) -> None:
        """As that of a session (`execution/sessions`)."""
        self.model.reset()

    @property
    def position(self) -> int:
        """As that of a session."""
        return int(self.model.position)

    def save_state(self) -> dict[str, np.ndarray]:
        """As that of a session."""
        saved: dict[str, np.ndarray] = self.model.save_state()
        return saved

    def load_state(self, saved: Mapping[str, object]) -> None:
        """As that of a session."""
        self.model.load_state(saved)

    def rewind(self, rows: int) -> None:
        """As that of a session."""
        self.model.rewind(rows)

    def session(self) -> Self:
        """A new session, independent of all others."""
        return self._of(self.model.session())

    def fork(self) -> Self:
        """A new session with copies of these states."""
        return self._of(self.model.fork())

    def _of(self, session: object) -> Self:
        """A wrapper of a session."""
        wrapper = copy(self)
        wrapper.model = session
        return wrapper
