"""Processing of measured times: figures, tables, the chart, the README, and JSON and back."""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from webnn_compile.errors import InputError

from benchmarks.chart import draw_chart
from benchmarks.first import compress_files, first_grid
from benchmarks.measure import reason
from benchmarks.readme import BEGIN, END, update_readme
from benchmarks.results import Results, facts
from benchmarks.summary import Figures, Key, Ratio, ratios, summarise
from benchmarks.tables import engine_grid, kernel_grid, markdown

OURS: Key = ("net", "chromium", "ours-wasm")
THEIRS: Key = ("net", "chromium", "onnxruntime-web")
TFJS: Key = ("net", "chromium", "tfjs-wasm")
OTHER_BROWSER: Key = ("net", "firefox", "onnxruntime-web")


def done(*times: float, others: float | None = 0.0, error: float = 1e-6) -> dict[str, Any]:
    return {"times_ms": list(times), "start_ms": 100.0, "first_ms": 20.0, "error": error, "others": others}


FAILED = {"failed": "no answer within 5 s"}
MEASURED: dict[Key, list[dict[str, Any]]] = {
    OURS: [done(2, 3, 10, others=0.1), done(4, 4, 4, others=1.5), done(1, 5, 6, others=None, error=1e-3)],
    THEIRS: [done(6, 6, 6), done(20, 16, 8), done(10, 10, 7)],
    TFJS: [FAILED, FAILED, FAILED],
    OTHER_BROWSER: [done(1)],
}
PROFILE = {
    "case": "net",
    "browser": None,
    "gflops": 100.0,
    "gbytes": 10.0,
    "kernels": [
        {"name": "conv", "nodes": ["a", "b", "c"], "ms": 1.0, "flops": 50e6, "bytes": 1e6},
        {"name": "copy", "nodes": [], "ms": 0.0, "flops": 0, "bytes": 4e6},
        {"name": "pool", "nodes": ["d"], "ms": 3.0, "flops": 30e6, "bytes": 15e6},
    ],
}


def results() -> Results:
    return Results(facts({"rounds": 3}), MEASURED, [PROFILE, {"case": "net", "browser": "firefox"} | FAILED])


def test_figures_are_medians_of_rounds_and_minima_of_all() -> None:
    found = summarise(MEASURED[OURS])
    assert found == Figures(median=4, minimum=1, first=120, error=1e-3, others=(0.1, 1.5), rounds=3)


def test_a_failed_round_does_not_count() -> None:
    found = summarise([FAILED, done(2, 3, 7)])
    assert isinstance(found, Figures)
    assert (found.median, found.rounds) == (3, 1)
    assert summarise([FAILED]) == "no answer within 5 s"
    assert summarise([]) == "not measured"


def test_ratios_compare_rounds_of_the_same_turn() -> None:
    assert ratios(OURS, MEASURED) == [Ratio("onnxruntime-web", 0.5, 1 / 6)]


def test_ratios_leave_out_turns_in_which_either_failed() -> None:
    measured: dict[Key, list[dict[str, Any]]] = {OURS: [FAILED, done(2)], THEIRS: [done(1), done(8)]}
    assert ratios(OURS, measured) == [Ratio("onnxruntime-web", 0.25, 0.25)]
    assert ratios(OURS, {OURS: [done(1)], THEIRS: [FAILED]}) == []
    assert ratios(THEIRS, MEASURED) == []


def test_table_of_engines() -> None:
    grid = engine_grid(MEASURED)
    ours, theirs, tfjs, _ = grid.rows
    assert ours[:5] == ("net", "chromium", "ours", "4.00", "1.00")
    assert ours[5:] == ("0.50 (0.17) x onnxruntime-web", "120", "1e-03", "0.1/1.5")
    assert theirs[5] == ""
    assert tfjs[5] == "failed: no answer within 5 s"
    assert all(len(row) == len(grid.head) for row in grid.rows)


def test_table_of_first_results() -> None:
    """Ratios are to the fastest other engine of the backend, in the same round."""

    def first(start: float, received: float) -> dict[str, Any]:
        return done(others=0.1) | {"start_ms": start, "bytes": 2_500_000, "received_ms": received}

    webgl: Key = ("net", "chromium", "tfjs-webgl")
    rounds: dict[Key, list[dict[str, Any]]] = {
        OURS: [first(80, 90), first(180, 150), first(280, 210)],
        THEIRS: [first(380, 300), FAILED, first(480, 400)],
        TFJS: [first(180, 100), first(380, 100), first(980, 100)],
        webgl: [first(1, 1), FAILED, FAILED],
        OTHER_BROWSER: [FAILED],
    }
    grid = first_grid(rounds, 50)
    ours, theirs, _, _, failed = grid.rows
    assert grid.title == "First results over a line of 50 Mbit/s"
    assert ours == ("net", "chromium", "ours", "2.5", "150", "200", "50", "0.50", "0.1/0.1/0.1")
    assert theirs[3:7] == ("2.5", "350", "450", "100")
    assert theirs[7] == ""
    assert failed[5] == "failed: no answer within 5 s"
    assert all(len(row) == len(grid.head) for row in grid.rows)


def test_files_are_compressed_once(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    script, weights = tmp_path / "bundle" / "a.js", tmp_path / "bundle" / "w.bin"
    script.write_text("1;" * 1000)
    weights.write_bytes(bytes(1000))
    for _ in range(2):
        compress_files(tmp_path, ("*.js", "*.js.*"))
    assert sorted(p.name for p in (tmp_path / "bundle").iterdir()) == ["a.js", "a.js.gz", "w.bin"]
    assert gzip.decompress(script.with_name("a.js.gz").read_bytes()) == script.read_bytes()


def test_table_of_kernels() -> None:
    grid = kernel_grid(PROFILE)
    assert grid.rows[0] == ("pool", "d", "3.000", "10.0", "10%", "15.00", "5.0", "50%")
    assert grid.rows[1] == ("conv", "a and 2 more", "1.000", "50.0", "50%", "1.00", "1.0", "10%")
    assert grid.rows[2] == ("copy", "", "0.000", "-", "-", "4.00", "-", "-")
    assert grid.rows[3] == ("all", "3 launches", "4.000", "20.0", "20%", "20.00", "5.0", "50%")
    assert "at most 100.0 GFLOP/s and 10.0 GB/s" in grid.title


def test_markdown() -> None:
    head, rule, *rows = markdown(kernel_grid(PROFILE)).splitlines()
    assert head.startswith("| kernel | nodes | ms |")
    assert rule.startswith("| --- | --- | --: |")
    assert len(rows) == 4
    assert {row.count("|") for row in (head, rule, *rows)} == {9}


def test_chart(tmp_path: Path) -> None:
    draw_chart(MEASURED, tmp_path / "a.svg")
    draw_chart(MEASURED, tmp_path / "b.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn == (tmp_path / "b.svg").read_text()
    for text in ("net, chromium", "net, firefox", "ours", "4.0 ms", "onnxruntime-web"):
        assert re.search(f"<!-- {text} -->", drawn), text
    assert "TensorFlow.js" not in drawn
    draw_chart(MEASURED, tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_no_chart_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        draw_chart({TFJS: [FAILED]}, tmp_path / "a.svg")


def test_no_chart_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"webnn-compile\[bench\]"):
        draw_chart(MEASURED, tmp_path / "a.svg")


def test_readme_keeps_what_stands_around(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text(f"# Title\n\n{BEGIN}\n\nold\n\n{END}\n\nafter\n")
    for _ in range(2):
        update_readme(results(), file, tmp_path / "chart.svg")
        text = file.read_text()
        assert text.startswith(f"# Title\n\n{BEGIN}\n\n")
        assert text.endswith(f"\n\n{END}\n\nafter\n")
        assert "old" not in text
        assert text.count("| net | chromium | ours |") == 1
        assert text.count("(chart.svg)") == 1
        assert text.count("<details>") == 1
        assert "onnxruntime-web 1.30.0" in text


def test_readme_without_marks(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Title\n")
    with pytest.raises(InputError, match="lacks the lines"):
        update_readme(results(), tmp_path / "README.md", None)


def test_json_and_back(tmp_path: Path) -> None:
    given = results()
    given.write(tmp_path / "deep" / "r.json")
    assert Results.read(tmp_path / "deep" / "r.json") == given


@pytest.mark.parametrize("text", ["", "{}", '{"measurements": 1}', "[]"])
def test_json_that_is_none_of_ours(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InputError, match="holds no results"):
        Results.read(tmp_path / "r.json")
    with pytest.raises(InputError, match="holds no results"):
        Results.read(tmp_path / "missing.json")


def test_the_reason_of_a_failure() -> None:
    python = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    f()\nValueError: no\n'
    page = "playwright.Error: Page.evaluate: RunError: it stopped\n    at start.js:1:2\n    at async run.js:3:4\n"
    assert reason(python) == "ValueError: no"
    assert reason(page) == "playwright.Error: Page.evaluate: RunError: it stopped"
    assert reason("") == "no message"
