"""An exception as an error whose message a user understands."""

from __future__ import annotations

import traceback
from pathlib import Path

from ..errors import InputError, InternalError, WebnnCompileError


def explain(error: Exception, phase: str | None = None) -> WebnnCompileError:
    """The error itself where it is one of ours; else too little memory, or a fault of the compiler's in `phase`."""
    if isinstance(error, MemoryError):
        where = f" (phase: {phase})" if phase is not None else ""
        return InputError(f"this machine lacks the memory for this model{where}; give it smaller shapes")
    if isinstance(error, WebnnCompileError):
        return error
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    during = f" in phase {phase!r}" if phase is not None else ""
    return InternalError(f"{type(error).__name__}{during}: {error}{where}")
