"""Searches that the page asks for: its answers take the place of a device's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.command import SHAPE, contents, run
from fake_page import FACTS, FakePage
from page_requests import SHADERS, SHAPES, asked, compiled, message_of
from webnn_compile.records.tuning_record import parse_line


def tuned(path: Path, page: FakePage, target: str = "webgpu", **request: Any) -> Any:
    """By settings for which the machine's speed does not matter."""
    given = {"model": path, "target": target, "shapes": SHAPES, "facts": FACTS, "seconds": 1e6, "trials": 12, **request}
    return asked("tune", page, **given)


TRIALS = 24


@pytest.fixture(scope="module")
def search(path: Path) -> tuple[FakePage, Any]:
    """A page, and what was found on it."""
    page = FakePage()
    found = tuned(path, page, trials=TRIALS)
    assert "error" not in found, found
    return page, found


def test_a_search_on_the_page(search: tuple[FakePage, Any]) -> None:
    page, found = search
    records = [parse_line(line) for line in found["records"].splitlines()]
    assert all(r is not None and r.target == "webgpu" and r.model == "net.onnx" for r in records)
    assert {r.device for r in records if r is not None} == {found["device"]} == {"Fake 1: nothing"}
    trials = [r for r in records if r is not None and r.kind == "trial" and r.failure != "illegal"]
    assert found["trials"] == len(trials) == TRIALS
    assert found["failed"] == sum(r.failure is not None for r in trials) == 0
    assert page.loaded == 0, "a model is left"
    assert page.shown[0]["phase"] == "the model by default"
    assert page.shown[-1]["phase"] == "done"
    assert page.shown[-1]["trials"] == TRIALS


def test_what_was_found_goes_into_a_bundle(path: Path, search: tuple[FakePage, Any], tmp_path: Path) -> None:
    """By the option `records`, as on the command line."""
    _, found = search
    assert found["gain"] < 1, found
    records = tmp_path / "records.jsonl"
    records.write_text(found["records"])
    _, files = compiled(path, records=str(records))
    ended = run(path, "--out", tmp_path / "out", *SHAPE, *SHADERS, "--records", records)
    assert ended.exit_code == 0, ended.output
    assert files == contents(tmp_path / "out")
    assert files != compiled(path)[1]


def test_a_search_goes_on_with_its_records(path: Path, tmp_path: Path) -> None:
    """Records in the answer include the given ones."""
    first = tuned(path, FakePage(), trials=6)
    records = tmp_path / "records.jsonl"
    records.write_text(first["records"])
    second = tuned(path, FakePage(), trials=10, records=records)
    assert second["trials"] == 10
    assert second["records"].startswith(first["records"])


def test_records_that_are_missing(path: Path, tmp_path: Path) -> None:
    message = message_of(path, "--out", tmp_path / "out", *SHAPE, *SHADERS, "--records", tmp_path / "none")
    expected = {"error": {"kind": "input", "message": message}}
    assert asked("compile", model=path, shapes=SHAPES, records=tmp_path / "none") == expected


def test_a_search_for_webgl(path: Path) -> None:
    found = tuned(path, FakePage(), "webgl", trials=3)
    assert found["device"] == "Fake 1 on none"
    assert found["trials"] == 3


@pytest.mark.parametrize("target", ["wasm2", "native2"])
def test_a_target_that_is_not_tuned(path: Path, target: str) -> None:
    error = tuned(path, FakePage(), target)["error"]
    assert error["kind"] == "input"
    assert f"target {target!r} cannot be tuned" in error["message"]


def test_a_page_that_does_not_answer(path: Path) -> None:
    error = tuned(path, FakePage(after=1))["error"]
    assert error["kind"] == "input"
    assert error["message"].startswith("the page cannot run the model on webgpu: the page did not answer within ")


def test_a_page_that_cannot_run_the_model(path: Path) -> None:
    lost = {"name": "UnsupportedError", "message": "there is no adapter"}
    error = tuned(path, FakePage(after=1, error=lost))["error"]
    message = "the page cannot run the model on webgpu: UnsupportedError: there is no adapter"
    assert error == {"kind": "input", "message": message}


class Blind(FakePage):
    """Shows nothing."""

    def exchange(self, header: str, payload: bytes, seconds: float) -> tuple[str, bytes] | None:
        return None if json.loads(header)["op"] == "show" else super().exchange(header, payload, seconds)


def test_a_page_that_does_not_show_the_search(path: Path) -> None:
    """Measurements there count all the same."""
    assert tuned(path, Blind(), trials=3)["trials"] == 3


class Slow(FakePage):
    """Does not answer one call for a profile, and then has no models, as rpc/device_page/run_requests.js frees them."""

    def __init__(self, call: int) -> None:
        super().__init__()
        self._call = call

    def exchange(self, header: str, payload: bytes, seconds: float) -> tuple[str, bytes] | None:
        answer = super().exchange(header, payload, seconds)
        if self.asked[-1] == "profile" and self.asked.count("profile") == self._call:
            self._models.clear()
            return None
        return answer

    def _unload(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        self._models.pop(request["model"], None)
        return {}, b""


@pytest.mark.parametrize("call", [1, 6])
def test_one_call_without_an_answer(path: Path, call: int) -> None:
    """The whole model is measured again, and candidates one by one."""
    found = tuned(path, Slow(call), trials=4)
    assert "error" not in found, found
    assert found["trials"] == 4
    assert found["failed"] <= 1


class Stopped(FakePage):
    """The search is to end after so many trials."""

    def __init__(self, trials: int) -> None:
        super().__init__()
        self._trials = trials

    def stopped(self) -> bool:
        return bool(self.shown) and self.shown[-1]["trials"] >= self._trials


@pytest.mark.parametrize("trials", [0, 4])
def test_a_search_is_stopped(path: Path, trials: int) -> None:
    """Candidates tried until then count, and are compared in the whole model."""
    page = Stopped(trials)
    found = tuned(path, page, trials=200)
    assert trials <= found["trials"] < 30
    assert [s["phase"] for s in page.shown][-2:] == ["the whole model", "done"]
    assert page.loaded == 0
    if trials == 0:
        assert found["gain"] == 1
        assert found["records"] == ""
