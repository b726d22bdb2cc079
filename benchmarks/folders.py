"""Where everything lies."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "benchmarks"
WORK = ROOT / "build" / "benchmarks"
"""Models, inputs, bundles: made anew as needed, ignored by git."""

SHARED = Path(os.environ.get("WEBNN_SHARED") or ROOT.parent / "shared")
"""Trained models, where there are any."""
