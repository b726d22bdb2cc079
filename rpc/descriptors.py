"""For how many sockets the process has file descriptors."""

from __future__ import annotations

OTHERS = 64
"""File descriptors of a broker's process besides those of sockets and downloads."""
EACH = 2
"""A download has a socket and a file."""


def most_sockets() -> int:
    """The most sockets that the process can have open at once."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return 2**31
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 if soft == resource.RLIM_INFINITY else max(16, (soft - OTHERS) // EACH)


def allow_sockets(count: int) -> None:
    """Raises the process's own limit for so many, as far as the system lets it."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count * EACH + OTHERS
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
