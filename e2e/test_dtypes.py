"""Every element type goes in and comes back; odd names and shapes too."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from compiled import PAGES
from harness import open_page, outcome
from playwright.sync_api import Page
from server import Site, serve
from tiny_artifact import copy_artifact
from webnn_compile.bundle import write_bundle

TENSORS = {
    "float16": ("float16", (3,)),
    "float32": ("float32", (2, 2)),
    "float64": ("float64", (3,)),
    "int8": ("int8", (3,)),
    "int16": ("int16", (3,)),
    "int32": ("int32", (3,)),
    "int64": ("int64", (3,)),
    "uint8": ("uint8", (3,)),
    "uint16": ("uint16", (3,)),
    "uint32": ("uint32", (3,)),
    "uint64": ("uint64", (3,)),
    "bool": ("bool", (3,)),
    "__proto__": ("int32", ()),
    'a "b" \u2028/*': ("uint8", (0, 4)),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("dtypes")
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    write_bundle(copy_artifact(TENSORS), folder / "bundle")
    with serve(Path(folder)) as served:
        yield served


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_every_dtype_comes_back(page: Page, site: Site, worker: bool) -> None:
    open_page(page, site)
    script = r"""
      const model = await bundle.load({ worker: argument });
      const half = globalThis.Float16Array?.of(0.5, -2, 1) ?? Uint16Array.of(0x3800, 0xc000, 0x3c00);
      const inputs = Object.fromEntries([
        ['float16', half],
        ['float32', Float32Array.of(1.5, -0, Infinity, NaN)],
        ['float64', Float64Array.of(Math.PI, -1, 0)],
        ['int8', Int8Array.of(-128, 0, 127)],
        ['int16', Int16Array.of(-32768, 0, 32767)],
        ['int32', Int32Array.of(-2147483648, 0, 2147483647)],
        ['int64', BigInt64Array.of(-(2n ** 63n), 0n, 2n ** 63n - 1n)],
        ['uint8', Uint8ClampedArray.of(0, 128, 255)],
        ['uint16', Uint16Array.of(0, 1, 65535)],
        ['uint32', Uint32Array.of(0, 1, 4294967295)],
        ['uint64', BigUint64Array.of(0n, 1n, 2n ** 64n - 1n)],
        ['bool', Uint8Array.of(0, 1, 200)],
        ['__proto__', Int32Array.of(7)],
        ['a "b" \u2028/*', new Uint8Array(0)],
      ]);
      const outputs = await model.run(inputs);
      return Object.entries(outputs).map(([name, array]) => [name, array.constructor.name, Array.from(array, String)]);
    """
    found = outcome(page, script, worker)["value"]
    assert found == [
        ["float16 out", "Uint16Array", ["14336", "49152", "15360"]],
        ["float32 out", "Float32Array", ["1.5", "0", "Infinity", "NaN"]],
        ["float64 out", "Float64Array", ["3.141592653589793", "-1", "0"]],
        ["int8 out", "Int8Array", ["-128", "0", "127"]],
        ["int16 out", "Int16Array", ["-32768", "0", "32767"]],
        ["int32 out", "Int32Array", ["-2147483648", "0", "2147483647"]],
        ["int64 out", "BigInt64Array", ["-9223372036854775808", "0", "9223372036854775807"]],
        ["uint8 out", "Uint8Array", ["0", "128", "255"]],
        ["uint16 out", "Uint16Array", ["0", "1", "65535"]],
        ["uint32 out", "Uint32Array", ["0", "1", "4294967295"]],
        ["uint64 out", "BigUint64Array", ["0", "1", "18446744073709551615"]],
        ["bool out", "Uint8Array", ["0", "1", "1"]],
        ["__proto__ out", "Int32Array", ["7"]],
        ['a "b" \u2028/* out', "Uint8Array", []],
    ]


def test_own_page_runs_every_dtype(page: Page, site: Site) -> None:
    page.goto(site.url + "bundle/")
    page.get_by_text("Ready, on wasm.").wait_for()
    page.click("#run")
    page.get_by_text("Done, on wasm.").wait_for()
    assert "__proto__ out" in page.locator("#outputs").inner_text()
