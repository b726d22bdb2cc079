"""The exceptions of the compiler. Each message says what happened, where, and what to do."""

from __future__ import annotations


class WebnnCompileError(Exception):
    """Base of every error that the command line reports as one message, without a traceback."""

    exit_code = 2


class InputError(WebnnCompileError):
    """The user's mistake: a file, an option, a shape or an array that does not fit."""


class UnsupportedError(WebnnCompileError):
    """The model needs something that this compiler does not support: names node, operator, reason, and a way out."""


class CannotExpress(UnsupportedError):
    """A target cannot express what a kernel computes (such as float64 in a shader); the message is the reason."""


class ScheduleError(Exception):
    """A schedule step that is not legal here; a search skips it, a rule tries its next choice."""


class BoundsError(Exception):
    """A tensor would read elements that another tensor does not have; names both. Where an operator is applied to a
    model's values, the model's shapes contradict each other."""


class InternalError(WebnnCompileError):
    """A fault of the compiler itself; names the pass and the kernel."""

    exit_code = 70
