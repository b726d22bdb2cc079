"""Modules for threads: shared memory, a stack for each worker, and static data that a new worker leaves alone."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from wasm.linking import memory_and_exports, need, object_of
from webnn_compile.errors import InternalError
from webnn_compile.wasm import linkers
from webnn_compile.wasm.emit import emit_object
from webnn_compile.wasm.finalise import Linked, finalise
from webnn_compile.wasm.triple import HEADER

EXPORTS = ("advance", "stack_address", "wake")


def link_atomics(linker: str, max_pages: int) -> Linked:
    need(linker)
    obj = object_of("atomics", threads=True)
    return linkers.link(obj, EXPORTS, linker=linker, shared=True, max_pages=max_pages)


@pytest.mark.parametrize("linker", ["builtin", "wasm-ld"])
def test_two_workers_share_data_and_not_their_stacks(linker: str, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    linked = link_atomics(linker, max_pages=3)
    module = tmp_path / "atomics.wasm"
    module.write_bytes(linked.module)
    command = [node, str(Path(__file__).with_name("two_workers.mjs")), str(module), str(linked.heap_base)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["total"] == 3 + seen["turns"] * (3 + 5)
    assert seen["woken"] == 0
    for number, address in enumerate(seen["stacks"], start=1):
        assert linked.heap_base + 4096 * number - 64 <= address < linked.heap_base + 4096 * number


@pytest.mark.parametrize("linker", ["builtin", "wasm-ld"])
def test_contract_on_memory_and_exports(linker: str) -> None:
    linked = link_atomics(linker, max_pages=777)
    limits, exports = memory_and_exports(linked.module)
    assert limits == bytes([3, 2]) + bytes.fromhex("8906")
    assert sorted(exports) == ["__stack_pointer", *sorted(EXPORTS)]


def test_builtin_is_no_larger_than_wasm_ld() -> None:
    assert len(link_atomics("builtin", 777).module) <= len(link_atomics("wasm-ld", 777).module)


def test_stack_pointer_is_exported_even_where_the_code_has_no_use_for_it() -> None:
    obj = emit_object(HEADER + "define i32 @one() {\n  ret i32 1\n}\n", relaxed=False, threads=True)
    assert memory_and_exports(finalise(obj, ["one"], shared=True).module)[1] == ["one", "__stack_pointer"]
    assert memory_and_exports(finalise(obj, ["one"]).module)[1] == ["one"]


def test_initialised_variables_are_refused() -> None:
    ir = HEADER + (
        "@turn = internal global i32 5\n"
        "define i32 @next() {\n  %v = atomicrmw add ptr @turn, i32 1 seq_cst\n  ret i32 %v\n}\n"
    )
    obj = emit_object(ir, relaxed=False, threads=True)
    with pytest.raises(InternalError, match=r"'\.data\.turn' is variable and initialised; .* let it start as zero"):
        finalise(obj, ["next"], shared=True)
