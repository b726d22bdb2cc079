"""A phone joins over TLS, with a certificate that the broker has made: models and tensors of many megabytes arrive."""

from __future__ import annotations

import contextlib

import numpy as np
from harness import join
from playwright.sync_api import Browser
from tiny_artifact import tiny_artifact, tiny_weights
from webnn_compile.bundle import make_manifest
from webnn_compile.rpc.client import connect
from webnn_compile.rpc.start_broker import start_broker
from webnn_compile.rpc.tls import self_signed_certificate

LENGTH = 6_553_600
"""Length of the model's input; the weights have twice as many floats: 52 MB, in three files."""


def test_a_model_of_50_megabytes(browser: Browser) -> None:
    certificate, fingerprint = self_signed_certificate(("127.0.0.1",))
    x = np.arange(LENGTH, dtype=np.float32).reshape(1, LENGTH) % 64
    with (
        start_broker(tls=certificate) as broker,
        connect(broker.page, fingerprint=fingerprint) as session,
        contextlib.closing(browser.new_context(ignore_https_errors=True)) as context,
    ):
        join(context.new_page(), broker)
        with session.lease() as device, device.load(make_manifest(tiny_artifact(LENGTH))) as model:
            assert model.info["weightBytes"] > 50_000_000
            found = model.run({"input": x})["output"]
    w, b = tiny_weights(LENGTH)
    np.testing.assert_array_equal(found, np.maximum(0, x * w + b))
