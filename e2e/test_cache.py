"""`load({ cache: true })`: the files that a page keeps, what it fetches again, and what it does without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from device_artifacts import tiny_device_artifact
from devices import C, W, open_bundle, value
from playwright.sync_api import Page
from server import Site, serve
from webnn_compile.bundle import write_bundle

LOAD = """
  const model = await bundle.load({ backend, worker, cache: true });
  const answer = [await head(model, 1), model.info().cache];
  await model.dispose();
  return answer;
"""


@pytest.fixture(scope="module")
def folder(tiny_folder: Path) -> Path:
    write_bundle(tiny_device_artifact("webgpu", "webgl", "wasm"), tiny_folder / "device", shard_bytes=3000)
    write_bundle(tiny_device_artifact("wasm"), tiny_folder / "many", shard_bytes=256)
    return tiny_folder


@pytest.fixture
def cached(folder: Path, page: Page) -> Iterator[Site]:
    """A site of an address that no test before has filled a cache for."""
    with serve(folder) as served:
        yield served


def kept(page: Page, site: Site, folder: Path) -> int:
    """Bytes of the files that were fetched, once all of them are kept: `load` does not wait for it."""
    size = sum((folder / file).stat().st_size for file in asked(site))
    page.wait_for_function("async (size) => (await bundle.cache.size()) === size", arg=size)
    return size


def asked(site: Site) -> list[str]:
    """The files but for scripts and pages that were fetched, and forgotten then."""
    files = [path.rsplit("/", 1)[1] for path in site.requests]
    site.requests.clear()
    return [file for file in files if fnmatch(file, "*-*.bin") or fnmatch(file, "*.wasm") or fnmatch(file, "*-*.txt")]


@pytest.mark.parametrize("worker", [False, True])
def test_a_second_visit_fetches_nothing(page: Page, cached: Site, folder: Path, worker: bool) -> None:
    results = (W + C).clip(0)[:8].tolist()
    load = f"const [backend, worker] = ['wasm', {str(worker).lower()}]; {LOAD}"
    open_bundle(page, cached, "bundle")
    assert value(page, load) == [results, {"bytes": 0}]
    size = kept(page, cached, folder / "bundle")
    assert size > 8192  # of the weights
    open_bundle(page, cached, "bundle")
    assert value(page, load) == [results, {"bytes": size}]
    assert asked(cached) == []


def test_a_second_visit_of_a_device_fetches_nothing(page: Page, cached: Site, folder: Path, backend: str) -> None:
    load = f"const [backend, worker] = ['{backend}', false]; {LOAD}"
    open_bundle(page, cached, "device", backend)
    first, _ = value(page, load)
    size = kept(page, cached, folder / "device")
    open_bundle(page, cached, "device", backend)
    assert value(page, load) == [first, {"bytes": size}]
    assert asked(cached) == []


def test_a_download_that_broke_off_goes_on_with_what_is_missing(page: Page, cached: Site) -> None:
    load = f"const [backend, worker] = ['wasm', true]; {LOAD}"
    last = max((cached_file for cached_file in _shards(page, cached)), key=lambda file: file[0])[1]
    cached.faults = {last: "break"}
    open_bundle(page, cached, "bundle")
    failed = "await bundle.load({ cache: true }).catch((error) => error.code)"
    assert value(page, f"return {failed}") in ("network", "length")
    cached.faults = {}
    asked(cached)
    open_bundle(page, cached, "bundle")
    result, cache = value(page, load)
    assert result == (W + C).clip(0)[:8].tolist()
    again = asked(cached)
    assert last in again
    assert len([file for file in again if file.startswith("weights-")]) <= 2  # as many as are on their way at once
    assert cache["bytes"] >= 3000


@pytest.mark.parametrize("ranges", [True, False], ids=["ranges", "whole"])
def test_a_shard_that_breaks_off_goes_on_where_it_ended(page: Page, cached: Site, ranges: bool) -> None:
    """In the same load; without ranges the shard begins again."""
    cached.ranges = ranges
    *_, (_, shard) = sorted(_shards(page, cached))
    cached.faults = {shard: "break once"}
    cached.sent.clear()
    open_bundle(page, cached, "bundle")
    script = """
      let most = 0;
      const onProgress = ({ loaded, total }) => { most = Math.max(most, loaded / total); };
      const model = await bundle.load({ onProgress });
      return [await head(model, 1), most];
    """
    assert value(page, script) == [(W + C).clip(0)[:8].tolist(), 1]
    size = 8192 - 2 * 3000
    assert sum(sent for path, (sent, _) in cached.sent.items() if path.endswith(shard)) == size + (
        0 if ranges else size // 2
    )


@pytest.mark.fresh_page
def test_a_download_that_is_killed_near_its_end_fetches_little_again(page: Page, cached: Site, folder: Path) -> None:
    """The page ends when all shards but the last two, which arrive at once, are there: these alone come again."""
    open_bundle(page, cached, "many")
    text = page.evaluate("async () => (await fetch('many/model.js')).text()")
    shards = re.findall(r"weights-\w+\.bin", text)
    assert len(shards) == 32
    cached.faults = dict.fromkeys(shards[-2:], "wait")
    page.evaluate("() => { bundle.load({ cache: true }).catch(() => {}); }")
    for shard in shards[-2:]:
        while not any(path.endswith(shard) for path in cached.requests):
            page.wait_for_timeout(50)
    size = sum((folder / "many" / file).stat().st_size for file in asked(cached) if file not in shards[-2:])
    page.wait_for_function("async (size) => (await bundle.cache.size()) === size", arg=size)
    page.goto("about:blank")
    cached.release.set()
    cached.faults = {}
    open_bundle(page, cached, "many")
    cached.sent.clear()
    result, cache = value(page, f"const [backend, worker] = ['wasm', true]; {LOAD}")
    assert result == (W + C).clip(0)[:8].tolist()
    again = {path.rsplit("/", 1)[1]: sent for path, (sent, _) in cached.sent.items() if path.endswith(".bin")}
    assert again == dict.fromkeys(shards[-2:], 256)
    assert cache["bytes"] == size


def _shards(page: Page, site: Site) -> list[tuple[int, str]]:
    """Offsets and names of the files of weights."""
    open_bundle(page, site, "bundle")
    text = page.evaluate("async () => (await fetch('bundle/model.js')).text()")
    lines = [line for line in text.splitlines() if "weights-" in line]
    return [(int(line.split("offset: ")[1].split(",")[0]), line.split("./")[1].split("'")[0]) for line in lines]


def test_files_of_an_older_version_are_removed_and_all_are_on_request(page: Page, cached: Site, folder: Path) -> None:
    load = f"const [backend, worker] = ['wasm', false]; {LOAD}"
    open_bundle(page, cached, "bundle")
    value(page, load)
    size = kept(page, cached, folder / "bundle")
    store = """
      const [name] = (await caches.keys()).filter((name) => name.includes(location.origin));
      const cache = await caches.open(name);
      """
    value(page, f"{store} await cache.put('/older', new Response('old'));")
    assert value(page, "return bundle.cache.size()") == size + 3
    value(page, load)
    page.wait_for_function("async (size) => (await bundle.cache.size()) === size", arg=size)
    assert value(
        page, "return [await bundle.cache.clear(), await bundle.cache.size(), await bundle.cache.clear()]"
    ) == [
        True,
        0,
        False,
    ]


def test_nothing_is_kept_unless_asked_for(page: Page, cached: Site) -> None:
    open_bundle(page, cached, "bundle")
    script = "const model = await bundle.load(); return [model.info().cache, await bundle.cache.size()]"
    assert value(page, script) == [None, 0]


def test_without_room_the_model_loads_and_says_so(page: Page, cached: Site) -> None:
    open_bundle(page, cached, "bundle")
    page.evaluate("() => { Cache.prototype.put = async () => { throw new DOMException('no room'); }; }")
    load = f"const [backend, worker] = ['wasm', false]; {LOAD}"
    result, cache = value(page, load)
    assert result == (W + C).clip(0)[:8].tolist()
    assert cache["bytes"] == 0
    assert value(page, "return bundle.cache.size()") == 0
