"""onnxruntime, the reference of most tests, without threads that wait by spinning."""

from __future__ import annotations

from typing import Any


def let_threads_sleep() -> None:
    """Threads of sessions that are made from now on sleep while they have nothing to do. By default they take a core
    for milliseconds after each operator, which tests in other processes then lack. Results stay the same bits: as many
    threads share the same work."""
    try:
        import onnxruntime
    except ImportError:  # tests that need it say so
        return
    made = onnxruntime.InferenceSession.__init__

    def make(self: Any, model: Any, sess_options: Any = None, *rest: Any, **named: Any) -> None:
        options = sess_options or onnxruntime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        made(self, model, options, *rest, **named)

    onnxruntime.InferenceSession.__init__ = make
