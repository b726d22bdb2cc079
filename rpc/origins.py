"""Origins of pages, as browsers write them: scheme, host and port."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """In the spelling of the header Origin, from an address without a path. Raises ValueError."""
    parts = urlsplit(url)
    port = parts.port  # raises ValueError where it is none
    rest = (parts.path.removeprefix("/"), parts.query, parts.fragment, parts.username)
    if not parts.scheme or not parts.hostname or any(rest):
        raise ValueError(url)
    host = parts.hostname
    name = f"[{host}]" if ":" in host else host.encode("idna").decode()
    return f"{parts.scheme}://{name}" + ("" if port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{port}")


def is_address(host: str) -> bool:
    """Whether it is an IP address, not a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
