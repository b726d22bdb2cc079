"""Steps of a reduction that share an iteration stay apart in WebAssembly: mixed, they need too many registers."""

from __future__ import annotations

from constructs import CONSTRUCTS, render
from webnn_compile.wasm.emit import HEADER, emit_assembly


def inner_loop() -> list[tuple[str, str]]:
    """Instructions and their operands: two rows, one vector of columns, two steps in an iteration."""
    text = emit_assembly(HEADER + render(CONSTRUCTS["steps_in_order"]()).replace("internal", ""), relaxed=True)
    lines = [line.strip().partition("\t")[::2] for line in text.splitlines() if line.startswith("\t")]
    names = [name for name, _ in lines]
    return lines[names.index("loop") : names.index("end_loop")]


def test_no_step_begins_before_the_last_is_done() -> None:
    steps: list[list[str]] = [[]]
    for name, _ in inner_loop():
        if name == "#APP":
            steps.append([])
        steps[-1].append(name)
    done = [s.count("f32x4.relaxed_madd") for s in steps]
    assert [n for n in done if n] == [2, 2]
    assert steps[0].count("v128.load32_splat") == 2
    assert steps[0].count("v128.load") == 1


def test_single_elements_of_another_step_are_read_at_no_other_offsets() -> None:
    """V8 takes one more instruction for each constant that is added to the address of such a load."""
    offsets = [at.partition(":")[0] for name, at in inner_loop() if name == "v128.load32_splat"]
    assert offsets == ["0", "24", "0", "24"]
