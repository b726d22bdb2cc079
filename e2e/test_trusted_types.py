"""Pages whose Content-Security-Policy requires Trusted Types."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from compiled import ROOT
from documentation import documented_policy
from harness import outcome
from parallel_site import compile_parallel_site, run
from playwright.sync_api import Page
from server import ISOLATION, serve

DEPLOYING = (ROOT / "docs" / "deploying.md").read_text()
POLICY = documented_policy("deploying.md", "content-security-policy")
(TRUSTED,) = re.findall(r"`(trusted-types [^`]*)`", DEPLOYING)
REQUIRED = f"{POLICY}; require-trusted-types-for 'script'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_parallel_site(tmp_path_factory.mktemp("trusted"))


def enforced(page: Page) -> None:
    """Skips in a browser without Trusted Types."""
    if not page.evaluate("'trustedTypes' in globalThis"):
        pytest.skip("this browser has no Trusted Types")


@pytest.mark.parametrize("policy", [REQUIRED, f"{REQUIRED}; {TRUSTED}"], ids=["any name", "the documented names"])
def test_workers_and_threads_start(page: Page, folder: Path, policy: str) -> None:
    with serve(folder, headers=ISOLATION | {"Content-Security-Policy": policy}) as site:
        page.goto(site.url + "blank.html")
        page.wait_for_selector("html[data-ready]", state="attached")
        enforced(page)
        refused = outcome(page, "return new Worker('./bundle/model.js')")
        assert refused["name"] == "TypeError"
        assert run(page, {"threads": 3})["info"]["threads"] == 3
        assert run(page, {})["info"]["worker"] is True


@pytest.mark.parametrize(
    ("allowed", "before"),
    [
        ("trusted-types other", ""),
        (TRUSTED, "trustedTypes.createPolicy('webnn-compile', { createScriptURL: String });"),
    ],
    ids=["another name", "another bundle's policy"],
)
def test_a_policy_that_is_not_allowed_is_named(page: Page, folder: Path, allowed: str, before: str) -> None:
    policy = f"{REQUIRED}; {allowed}"
    with serve(folder, headers=ISOLATION | {"Content-Security-Policy": policy}) as site:
        page.goto(site.url + "blank.html")
        page.wait_for_selector("html[data-ready]", state="attached")
        enforced(page)
        refused = outcome(page, f"{before} return bundle.load()")
        assert (refused["name"], refused["code"]) == ("WorkerError", "start")
        assert (
            "the page's Content-Security-Policy must allow: trusted-types webnn-compile, with 'allow-duplicates' where "
            "the page loads several bundles"
        ) in refused["message"]
        info = run(page, {"worker": False})["info"]
        assert info["worker"] is False


def test_the_service_worker_is_registered(page: Page, folder: Path) -> None:
    with serve(folder / "bundle", headers={"Content-Security-Policy": f"{REQUIRED}; {TRUSTED}"}) as site:
        page.goto(site.url)
        page.wait_for_function("() => crossOriginIsolated")
        page.get_by_text("Ready, on wasm.").wait_for()


def test_a_service_worker_that_is_not_allowed_says_so(page: Page, folder: Path) -> None:
    policy = f"{REQUIRED}; trusted-types webnn-compile"
    with serve(folder / "bundle", headers={"Content-Security-Policy": policy}) as site:
        with page.expect_console_message(lambda message: message.text.startswith("isolate.js: ")) as said:
            page.goto(site.url)
            if not page.evaluate("'trustedTypes' in globalThis"):
                pytest.skip("this browser has no Trusted Types")
        assert "the page must allow: trusted-types webnn-compile-isolate" in said.value.text
        page.get_by_text("Ready, on wasm.").wait_for()
