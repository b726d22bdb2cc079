"""The built-in linker against wasm-ld and emcc: the same programs, the same results and the same contract."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from wasm.linking import CASES, Case, memory_and_exports, need, object_of
from webnn_compile.errors import InputError
from webnn_compile.program.plan_memory import ALIGNMENT
from webnn_compile.wasm import linkers
from webnn_compile.wasm.finalise import Linked

CASE_IDS = [case.program + ("-relaxed" if case.relaxed else "") for case in CASES]


def link(case: Case, linker: str, **options: int) -> Linked:
    need(linker)
    obj = object_of(case.program, relaxed=case.relaxed)
    return linkers.link(obj, case.exports, linker=linker, **options)


@pytest.mark.parametrize("linker", ["builtin", "wasm-ld"])
@pytest.mark.parametrize("case", CASES, ids=CASE_IDS)
def test_linked_program_gives_its_results(case: Case, linker: str) -> None:
    linked = link(case, linker)
    case.check(case.instantiate(linked), linked)


# Old versions know no relaxed SIMD, and put the stack after the data, where an overflow does not trap.
@pytest.mark.parametrize(
    "case", [c for c in CASES if not c.relaxed and c.program != "calls"], ids=lambda case: case.program
)
def test_emcc_links_the_same_programs(case: Case) -> None:
    linked = link(case, "emcc")
    case.check(case.instantiate(linked), linked)


@pytest.mark.parametrize("linker", ["builtin", "wasm-ld"])
@pytest.mark.parametrize("case", CASES, ids=CASE_IDS)
def test_contract_on_memory_and_exports(case: Case, linker: str) -> None:
    linked = link(case, linker, stack_bytes=3 * 65536)
    assert linked.heap_base % ALIGNMENT == 0
    assert linked.heap_base >= 3 * 65536
    limits, exports = memory_and_exports(linked.module)
    assert limits == bytes([0, -(-linked.heap_base // 65536)])
    assert sorted(exports) == sorted(case.exports)


@pytest.mark.parametrize("case", CASES, ids=CASE_IDS)
def test_builtin_is_no_larger_than_wasm_ld_and_deterministic(case: Case) -> None:
    builtin = link(case, "builtin")
    assert builtin == link(case, "builtin")
    assert len(builtin.module) <= len(link(case, "wasm-ld").module)


@pytest.mark.parametrize("case", CASES, ids=CASE_IDS)
def test_heap_base_agrees_with_wasm_ld(case: Case) -> None:
    # Both put the stack first and then the data; they may order the data, and so pad it, differently.
    assert abs(link(case, "builtin").heap_base - link(case, "wasm-ld").heap_base) <= 64


def test_unknown_linker_is_refused() -> None:
    with pytest.raises(InputError, match=r"choose one of builtin, wasm-ld, emcc"):
        linkers.link(b"", [], linker="gold")


@pytest.mark.parametrize(("linker", "advice"), [("wasm-ld", "pip install ziglang"), ("emcc", "emscripten.org")])
def test_missing_linker_is_explained(linker: str, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkers.shutil, "which", lambda name: None)
    monkeypatch.setattr(linkers.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=f"there is no {linker} on the PATH.*{advice}.*built-in linker"):
        linkers.link(object_of("calls"), ["on_stack"], linker=linker)


def test_failing_linker_reports_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "wasm-ld"
    program.write_text("#!/bin/sh\necho 'it is Monday' >&2\nexit 3\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(InputError, match="exit status 3: it is Monday"):
        linkers.link(object_of("calls"), ["on_stack"], linker="wasm-ld")
