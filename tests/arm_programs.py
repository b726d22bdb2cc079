"""Programs for Arm processors: linked by Zig, run by an emulator."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

LIBC = Path("/usr/aarch64-linux-gnu")

CC = (sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-gnu")
"""With glibc, of which Zig builds stubs: the whole of musl would take a processor more than a minute."""

RUN = ("qemu-aarch64", "-L", str(LIBC))


def need_arm() -> None:
    if shutil.which(RUN[0]) is None or find_spec("ziglang") is None or not LIBC.is_dir():
        pytest.skip("qemu-aarch64, the package ziglang or the C library for Arm is not installed")
