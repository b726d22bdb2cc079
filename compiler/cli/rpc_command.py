"""The command line of RPC: `webnn-rpc serve`, `webnn-rpc devices`, `webnn-rpc run`."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import ssl
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from rich.table import Table

from ..bundle import VARIANTS, Manifest
from ..driver.build import build_manifest
from ..driver.options import Options
from ..driver.targets import bundled_targets
from ..errors import InputError, WebnnCompileError
from ..frontends.model_inputs import ModelInputs
from ..system.put_files import OutputFile, check_distinct, check_output, put_files
from ..system.write_npz import write_npz
from ..text.escape import shell_word
from ..tune.tab_facts import adapter_of_tab
from ..values.arrays import read_inputs
from ..values.bind_sizes import bind_sizes
from ..values.draw_inputs import draw_inputs, largest_sizes
from .addresses import LOOPBACK, draw_code, reachable, with_host
from .explained import DEBUG, FILE, TEXT, explained, require
from .input_options import input_options, read_array
from .terminal import TerminalLog, say, show_table
from .time_option import TimeOption
from .watch import RepeatableCommand, read_files

if TYPE_CHECKING:
    from webnn_compile.rpc.client import DeviceInfo, Session
    from webnn_compile.rpc.serving import ServedModel

LEAST_TOKEN = 16
"""Characters of a token of the user's own, where others may reach the broker."""

PACKAGES = ("websockets", "segno", "cryptography")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="webnn-compile")
def main() -> None:
    """Run compiled models in browser tabs, here or on other machines.

    `webnn-rpc serve` prints an address. A browser that opens it becomes a device; `webnn-rpc devices` and
    `webnn-rpc run` use it.
    """


@contextlib.contextmanager
def _explained(*, debug: bool = False) -> Iterator[None]:
    """Refusals of the broker and failures of a device are messages, too; checks that the extra is installed."""
    with explained(debug=debug):
        require("webnn-rpc", PACKAGES, "tune")
        from webnn_compile.rpc.client import RpcError

        try:
            yield
        except RpcError as error:
            raise InputError(str(error)) from None


@main.command()
@click.argument("model", type=FILE, required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address; 0.0.0.0 for all.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--token", help="The secret of devices and clients; by default WEBNN_RPC_TOKEN, else random.")
@click.option(
    "--allow-origin", "origins", type=TEXT, multiple=True, metavar="URL", help="Pages of one's own that may connect."
)
@click.option("--cert", type=FILE, help="A certificate for https (PEM).")
@click.option("--key", type=FILE, help="Its private key (PEM).")
@click.option("--tls", type=click.Choice(["self-signed"]), help="Https by a certificate made now.")
@input_options
@DEBUG
def serve(
    model: Path | None,
    host: str,
    port: int,
    token: str | None,
    origins: tuple[str, ...],
    cert: Path | None,
    key: Path | None,
    tls: str | None,
    inputs: ModelInputs,
    debug: bool,
) -> None:
    """Start a broker, and serve the page that makes a browser a device.

    With MODEL it is also compiled for pages that `import { connect } from 'ADDRESS/rpc.js'`, again whenever the file
    changes. Pages from elsewhere than the broker need --allow-origin.

    On plain http from another machine a browser has no WebGPU and no threads: use --tls self-signed there.
    """
    logging.basicConfig(handlers=[TerminalLog()], format="%(message)s")
    with _explained(debug=debug):
        from webnn_compile.rpc.client import TOKEN_VARIABLE
        from webnn_compile.rpc.descriptors import allow_sockets
        from webnn_compile.rpc.limits import Limits
        from webnn_compile.rpc.start_broker import check_host, check_token, start_broker

        if token is None:  # not by Click's `envvar`: an empty variable would count as none
            token, option = os.environ.get(TOKEN_VARIABLE), TOKEN_VARIABLE
        else:
            option = "--token"
        with _refusing(f"--host {host!r}"):
            check_host(host)
        if token is not None:
            with _refusing(option):
                check_token(token)
        allow_sockets(Limits().sockets)
        if token is not None and host not in LOOPBACK and len(token) < LEAST_TOKEN:
            raise InputError(f"{option}: others can reach {host}; give at least {LEAST_TOKEN} characters, or none")
        allowed = list(map(_origin, origins))
        served = None if model is None else _serve_model(model, inputs)
        context, fingerprint = _certificate(host, cert, key, tls)
        with contextlib.ExitStack() as opened:
            try:
                address = opened.enter_context(
                    start_broker(host, port, token=token, origins=allowed, tls=context, model=served)
                )
            except OSError as error:
                reason = error.strerror or str(error)
                raise InputError(
                    f"cannot listen on {host}, port {port}: {reason}; give another --port or --host"
                ) from None
            shown = with_host(address.page, reachable(host))
            say(f"Open this address in a browser to make it a device:\n\n  {shown}\n")
            if host not in LOOPBACK and sys.stdout.isatty():
                draw_code(shown)
            if fingerprint is not None:
                say(f"Its certificate, which the browser warns of, has the SHA-256 fingerprint\n  {fingerprint}\n")
            if model is not None:
                script = f"{shown.partition('#')[0]}rpc.js"
                say(f"{model} for a page of your own:\n")
                say(f"  import {{ connect }} from '{script}';\n  const model = await connect('{shown}').load();\n")
            with contextlib.suppress(KeyboardInterrupt):
                say("Ctrl-C ends the broker.")
                while True:
                    time.sleep(3600)


@contextlib.contextmanager
def _refusing(option: str) -> Iterator[None]:
    """A ValueError is one of this option."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None


def _origin(url: str) -> str:
    from webnn_compile.rpc.origins import origin_of

    try:
        origin: str = origin_of(url)
    except ValueError:
        raise InputError(
            f"--allow-origin {url}: give scheme, host and port of the page, as http://localhost:5173"
        ) from None
    return origin


def _serve_model(path: Path, inputs: ModelInputs) -> ServedModel:
    """Raises InputError where the model does not compile."""
    from webnn_compile.rpc.serving import ServedModel, ServingError

    def compile_for(path: Path, backend: str, features: Sequence[str]) -> Manifest:
        variants = tuple(v for v in VARIANTS if v in features)[:1] or VARIANTS
        try:
            manifest = build_manifest(path, Options(inputs, targets=(backend,), variants=variants), lambda _: None)
        except WebnnCompileError as error:
            say(f"{path} does not compile for {backend}: {error}", err=True)
            raise ServingError(str(error)) from None
        say(f"{path} compiled for a page's {backend}")
        return manifest

    build_manifest(path, Options(inputs, targets=("wasm",), variants=VARIANTS[:1]), lambda _: None)
    return ServedModel(path, compile_for, VARIANTS)


def _certificate(
    host: str, cert: Path | None, key: Path | None, tls: str | None
) -> tuple[ssl.SSLContext | None, str | None]:
    from webnn_compile.rpc.tls import given_certificate, self_signed_certificate

    if (cert is None) != (key is None):
        raise InputError("--cert and --key belong together: give both")
    if cert is not None and key is not None:
        if tls is not None:
            raise InputError("--tls self-signed makes a certificate: leave it out, or --cert and --key")
        try:
            return given_certificate(cert, key), None
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"--cert {cert}, --key {key}: {error.strerror or error}; give PEM files") from None
    if tls is not None:
        certificate: tuple[ssl.SSLContext, str] = self_signed_certificate((reachable(host), "localhost", "127.0.0.1"))
        return certificate
    return None, None


BROKER = click.option(
    "--broker",
    type=TEXT,
    envvar="WEBNN_RPC_BROKER",
    default="http://127.0.0.1:8765",
    show_default=True,
    metavar="URL",
    help="The broker's address, with its token or with WEBNN_RPC_TOKEN set.",
)


def _connect(broker: str) -> Session:
    from webnn_compile.rpc.client import connect

    return connect(broker)


@main.command()
@BROKER
def devices(broker: str) -> None:
    """List the devices that have joined a broker."""
    with _explained(), _connect(broker) as session:
        listed = session.devices()
        if not listed:
            say("No device has joined: open the broker's address in a browser.")
            return
        table = Table("device", "browser", "runs", "WebGPU", "WebGL 2", "used")
        show_table(table, map(_row, listed))


def _row(d: DeviceInfo) -> tuple[object, ...]:
    used = "yes" if d.leased else "no"
    waiting = f", {d.waiting} wait" if d.waiting else ""
    adapters = adapter_of_tab(d.facts, "webgpu"), adapter_of_tab(d.facts, "webgl")
    return d.name, d.facts.get("browser", ""), ", ".join(d.backends), *adapters, used + waiting


@main.command(cls=RepeatableCommand)
@click.argument("model", type=FILE)
@BROKER
@click.option("--device", type=TEXT, default="any", show_default=True, help="A name from `webnn-rpc devices`.")
@click.option("--backend", type=click.Choice(bundled_targets()), help="By default the first that device has.")
@click.option(
    "--input", "pairs", type=TEXT, multiple=True, metavar="NAME=FILE.npy", help="One for each input; none: random."
)
@input_options
@click.option("--out", type=FILE, metavar="FILE.npz", help="Write the outputs here.")
@click.option("--time", "repeat", type=click.IntRange(1), help="Measure so many runs.")
@click.option("--wait", type=TimeOption(), metavar="30s", default="30s", show_default=True, help="For a free device.")
@DEBUG
def run(
    model: Path,
    broker: str,
    device: str,
    backend: str | None,
    pairs: tuple[str, ...],
    inputs: ModelInputs,
    out: Path | None,
    repeat: int | None,
    wait: float,
    debug: bool,
) -> None:
    """Run MODEL once on a device.

    Without --input its inputs are drawn at random, of the largest sizes where sizes vary.
    """
    with _explained(debug=debug):
        if out is not None:
            check_output("--out", out)
            check_distinct([("--out", out)], read_files())
        arrays = dict(map(_read_input, pairs))
        shapes = {name: a.shape for name, a in arrays.items() if not inputs.dims} | dict(inputs.shapes)
        with _connect(broker) as session, session.lease(device, backend, timeout=wait) as leased:
            chosen = backend or next(b for b in bundled_targets() if b in leased.info.backends)
            compiled = build_manifest(model, Options(replace(inputs, shapes=shapes), targets=(chosen,)), lambda _: None)
            arrays = _complete(compiled, arrays)
            with leased.load(compiled, {"backend": chosen}) as loaded:
                results = loaded.run(arrays)
                say(f"{loaded.info['backend']} on {leased.info.name} ({loaded.info.get('adapter', 'CPU')})")
                for name, a in results.items():
                    say(f"  {name}: {a.dtype} {list(a.shape)}")
                if repeat is not None:
                    times = leased.time(loaded, arrays, repeat=repeat)
                    say(f"  {np.median(times):.3g} ms, the median of {len(times)}")
        if out is not None:
            _write(out, results)


def _complete(compiled: Manifest, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Raises InputError where some inputs are given, and not all or others, or they do not fit."""
    specs = compiled.inputs
    if specs and not arrays:
        say(f"inputs at random: {', '.join(f'--input {shell_word(s.name)}=FILE.npy' for s in specs)} would be yours")
        return draw_inputs(specs, compiled.dimensions, largest_sizes(compiled.dimensions), np.random.default_rng(0))
    if missing := [s for s in specs if s.name not in arrays]:
        lacking = ", ".join(s.name for s in missing)
        raise InputError(f"no --input for {lacking}: give NAME=FILE.npy for each input, or none to draw all at random")
    bind_sizes(compiled.dimensions, specs, read_inputs(specs, arrays))
    return arrays


def _read_input(text: str) -> tuple[str, np.ndarray]:
    name, equals, file = text.partition("=")
    if not equals or not name:
        raise InputError(f"--input {text}: give NAME=FILE.npy")
    try:
        return name, read_array(Path(file))
    except InputError as error:
        raise InputError(f"--input {text}: {error}") from None


def _write(out: Path, results: dict[str, np.ndarray]) -> None:
    buffer = io.BytesIO()
    write_npz(buffer, results)
    put_files([OutputFile("--out", out, buffer.getvalue())])


if __name__ == "__main__":
    main()
