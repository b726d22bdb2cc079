"""The peak of a browser, by the module that measures this machine's processor."""

from __future__ import annotations

from webnn_compile.native.measure_peak import peak_text
from webnn_compile.wasm.emit import emit_object
from webnn_compile.wasm.finalise import Linked
from webnn_compile.wasm.linkers import link
from webnn_compile.wasm.triple import HEADER


def peak_module() -> Linked:
    """The wasm module with relaxed SIMD, which exports `multiply` and `read`."""
    return link(emit_object(peak_text(HEADER, 4), relaxed=True), ["multiply", "read"])
