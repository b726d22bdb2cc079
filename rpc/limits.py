"""Limits of the broker on its connections."""

from __future__ import annotations

from dataclasses import dataclass

from .messages import LARGEST_PAYLOAD


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one connection, where not said otherwise. Times are in seconds."""

    connections: int = 1024
    """WebSockets of one broker whose hello has been accepted."""
    sockets: int = 4096
    """Connections of any kind to one broker, counted from `accept` on, those that fetch files among them; where more
    come, the oldest unauthenticated one is closed."""
    unauthenticated: int = 128
    """Connections from one address that have sent neither the token nor the path of stored files; where more come,
    its oldest is closed."""
    frames_per_second: int = 4000
    payload: int = LARGEST_PAYLOAD
    requests: int = 64
    """Calls under way, and requests for a lease that wait."""
    hello: float = 10
    """From `accept` to the request, TLS handshake included, and from there to the first message."""
    hello_bytes: int = 2**17
    """Bytes that arrive before the hello is accepted: its sender may lack the token."""
    stall: float = 60
    """In which some of a file must be read."""
    idle_lease: float = 600
    """A lease without a call for so long ends."""
    ping: float = 10
    """Between two pings; a connection that is silent for three of these intervals counts as lost."""
    close: float = 1
    """From the end of a connection to the other side's agreement."""
    wrong_token: float = 1
    """Before a wrong token is answered."""
