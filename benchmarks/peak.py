"""The peak of a browser, by the module that measures this machine's processor."""

from __future__ import annotations

from webnn_compile.native.measure_peak import BYTES, peak_text
from webnn_compile.wasm.emit import emit_object
from webnn_compile.wasm.finalise import Linked
from webnn_compile.wasm.linkers import link
from webnn_compile.wasm.triple import HEADER


def peak_module(read_bytes: int = BYTES) -> Linked:
    """The wasm module with relaxed SIMD, which exports `multiply`, and `read` of so many bytes."""
    return link(emit_object(peak_text(HEADER, 4, read_bytes), relaxed=True), ["multiply", "read"])
