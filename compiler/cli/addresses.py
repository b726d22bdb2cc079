"""Addresses of servers as users open them: on this machine, from others, by a camera."""

from __future__ import annotations

import contextlib
import io
import socket
from urllib.parse import urlsplit

from .terminal import say_light_on_dark

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def reachable(host: str) -> str:
    """The address by which other machines reach this one, where `host` stands for all."""
    numeric = ""
    with contextlib.suppress(OSError):  # a name
        numeric = str(socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)[0][4][0])
    if numeric not in ("0.0.0.0", "::"):  # which have other spellings: 0, ::0
        return host
    family, outside = (socket.AF_INET, "192.0.2.1") if numeric == "0.0.0.0" else (socket.AF_INET6, "2001:db8::1")
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((outside, 9))  # sends nothing
        return str(probe.getsockname()[0])
    return socket.gethostname()


def draw_code(text: str) -> None:
    """Draws a QR code (package segno), light on dark whatever the terminal's colours: some scanners refuse one that is
    inverted."""
    import segno

    drawn = io.StringIO()
    segno.make(text, error="l").terminal(drawn, compact=True)
    for line in drawn.getvalue().splitlines():
        say_light_on_dark(line)


def with_host(url: str, host: str) -> str:
    """The address with another host."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{f'[{host}]' if ':' in host else host}:{parts.port}").geturl()
