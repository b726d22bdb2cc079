"""Devices are leased to one client at a time, first come, first served."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from webnn_compile.rpc.leases import ANY, Device, Lease, Leases


class World:
    """`time` is what the clock says, `ended` the leases that have ended."""

    def __init__(self) -> None:
        self.time = 0.0
        self.ended: list[Lease] = []
        self.leases = Leases(lambda: self.time, self.ended.append)

    def join(self, name: str, *backends: str) -> Device:
        device = Device(name, backends, {})
        self.leases.join(device)
        return device

    def request(
        self, client: str, name: str = ANY, backend: str | None = None, timeout: float | None = 5
    ) -> asyncio.Task[Lease]:
        return asyncio.create_task(self.leases.lease(client, name, backend, timeout))


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_one_client_at_a_time_in_order() -> None:
    async def scenario() -> None:
        world = World()
        device = world.join("tab", "wasm")
        first, second, third = (world.request(c) for c in "abc")
        await settle()
        assert first.done()
        assert world.leases.waiting(device) == 2
        for lease, following in ((first, second), (second, third)):
            assert not following.done()
            world.leases.release(lease.result())
            await settle()
            assert following.done()
        assert [lease.client for lease in world.ended] == ["a", "b"]
        assert device.lease is third.result()

    run(scenario())


def test_a_request_for_another_device_blocks_none() -> None:
    async def scenario() -> None:
        world = World()
        world.join("tab", "wasm")
        gpu, later = world.request("a", backend="webgpu"), world.request("b", "phone")
        either = world.request("c")
        await settle()
        assert [t.done() for t in (gpu, later, either)] == [False, False, True]
        phone = world.join("phone", "wasm")
        await settle()
        assert later.result().device is phone
        second = world.join("tab", "webgpu", "wasm")
        await settle()
        assert second.name == "tab-2"
        assert gpu.result().device is second

    run(scenario())


def test_a_wait_that_ends() -> None:
    async def scenario() -> None:
        world = World()
        with pytest.raises(TimeoutError):
            await world.leases.lease("a", ANY, None, 0.01)
        device = world.join("tab")
        await settle()
        assert device.lease is None
        cancelled = world.request("b", "phone")
        await settle()
        cancelled.cancel()
        await settle()
        assert world.join("phone").lease is None

    run(scenario())


@pytest.mark.parametrize("ends", ["in time", "by its timeout", "cancelled"])
def test_a_lease_that_is_granted_as_its_request_ends(ends: str) -> None:
    """It is the client's, or the device is free again."""

    async def scenario() -> None:
        world = World()
        device = world.join("tab")
        first = await world.leases.lease("a", ANY, None, None)
        second = world.request("b", timeout=0.01)
        await settle()
        if ends == "by its timeout":
            time.sleep(0.02)  # both are due when the loop goes on
        world.leases.release(first)
        if ends == "cancelled":
            second.cancel()
        got = (await asyncio.gather(second, return_exceptions=True))[0]
        assert device.lease is (got if isinstance(got, Lease) else None)
        assert isinstance(got, Lease) == (ends != "cancelled")

    run(scenario())


def test_a_client_that_has_left_holds_no_lease() -> None:
    async def scenario() -> None:
        world = World()
        one, two = world.join("one"), world.join("two")
        mine, also, waiting, other = world.request("a"), world.request("a"), world.request("a"), world.request("b")
        await settle()
        world.leases.release_all("a")
        await settle()
        assert {lease.client for lease in world.ended} == {"a"}
        assert [t.done() for t in (mine, also, waiting, other)] == [True, True, False, True]
        assert {d.lease and d.lease.client for d in (one, two)} == {None, "b"}
        waiting.cancel()
        world.leases.leave(two)
        world.leases.leave(two)
        assert world.leases.devices == {"one": one}
        await asyncio.gather(waiting, return_exceptions=True)

    run(scenario())


def test_a_lease_is_its_clients_alone() -> None:
    async def scenario() -> None:
        world = World()
        world.join("tab")
        lease = await world.request("a")
        world.time = 7.0
        assert world.leases.find("b", lease.id) is None
        assert world.leases.find("a", lease.id + 1) is None
        assert lease.used == 0
        assert world.leases.find("a", lease.id) is lease
        assert lease.used == 7
        world.leases.release(lease)
        world.leases.release(lease)
        assert world.leases.find("a", lease.id) is None
        assert world.ended == [lease]

    run(scenario())
