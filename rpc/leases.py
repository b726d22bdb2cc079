"""Which client uses which device: one at a time, first come, first served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

ANY = "any"
"""The name that stands for every device."""


@dataclass(eq=False, slots=True)
class Device:
    """`facts` are what its page says of the browser, as JSON; `backends` those that it can run."""

    name: str
    backends: tuple[str, ...]
    facts: dict[str, Any]
    lease: Lease | None = None


@dataclass(eq=False, slots=True)
class Lease:
    """`used` is the time of the last call, by the clock of `Leases`."""

    id: int
    device: Device
    client: Hashable
    used: float


@dataclass(eq=False, slots=True)
class LeaseRequest:
    """One that waits for a device."""

    client: Hashable
    name: str
    backend: str | None
    granted: asyncio.Future[Lease]

    def fits(self, device: Device) -> bool:
        return self.name in (ANY, device.name) and (self.backend is None or self.backend in device.backends)


@dataclass(slots=True)
class Leases:
    """The devices that have joined and the clients that wait for them. `ended` is called with every lease that ends."""

    clock: Callable[[], float]
    ended: Callable[[Lease], None]
    devices: dict[str, Device] = field(default_factory=dict)
    _requests: list[LeaseRequest] = field(default_factory=list)
    _last_id: int = 0

    def join(self, device: Device) -> None:
        """Adds the device, under a name that no other has."""
        stem, n = device.name, 1
        while device.name in self.devices or device.name == ANY:
            n += 1
            device.name = f"{stem}-{n}"
        self.devices[device.name] = device
        self._grant()

    def leave(self, device: Device) -> None:
        if self.devices.get(device.name) is not device:
            return
        del self.devices[device.name]
        if device.lease is not None:
            self.ended(device.lease)
            device.lease = None

    async def lease(self, client: Hashable, name: str, backend: str | None, timeout: float | None) -> Lease:
        """Waits until a device of this name (or ANY) with the backend is free. Raises TimeoutError."""
        request = LeaseRequest(client, name, backend, asyncio.get_running_loop().create_future())
        self._requests.append(request)
        try:
            self._grant()
            await asyncio.wait([request.granted], timeout=timeout)
            if not request.granted.done():  # else it is a lease, even where the time has passed as well
                raise TimeoutError
            return request.granted.result()
        except asyncio.CancelledError:
            if request.granted.done():
                self.release(request.granted.result())
            raise
        finally:
            if request in self._requests:
                self._requests.remove(request)

    def find(self, client: Hashable, lease_id: object) -> Lease | None:
        """The client's lease, marked as used."""
        for device in self.devices.values():
            if device.lease is not None and device.lease.id == lease_id and device.lease.client is client:
                device.lease.used = self.clock()
                return device.lease
        return None

    def release(self, lease: Lease) -> None:
        if lease.device.lease is lease:
            lease.device.lease = None
            self.ended(lease)
            self._grant()

    def release_all(self, client: Hashable) -> None:
        """The leases of a client whose connection has ended, and its requests for others."""
        self._requests = [r for r in self._requests if r.client is not client]
        for lease in [d.lease for d in self.devices.values() if d.lease is not None]:
            if lease.client is client:
                self.release(lease)

    def waiting(self, device: Device) -> int:
        """How many requests wait for a device such as this."""
        return sum(r.fits(device) for r in self._requests)

    def _grant(self) -> None:
        for request in list(self._requests):
            free = next((d for d in self.devices.values() if d.lease is None and request.fits(d)), None)
            if free is None:
                continue
            self._last_id += 1
            free.lease = Lease(self._last_id, free, request.client, self.clock())
            self._requests.remove(request)
            request.granted.set_result(free.lease)
