"""Sends the served model to pages, and again whenever its file changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from .file_store import FileStore, StoreError
from .messages import Header, ProtocolError
from .peer import Peer
from .serving import POLL, ServedModel, ServingError


class Publisher:
    """The pages that use `model`. Files go into the store `files`, which pages read at `files_path`."""

    def __init__(self, model: ServedModel | None, files: FileStore, files_path: str) -> None:
        self._model, self._files, self._files_path = model, files, files_path
        self._subscribers: dict[Peer, tuple[str, tuple[str, ...]]] = {}

    async def serve(self, peer: Peer, hello: Header, frames: AsyncIterator[Any]) -> None:
        """A page, until its connection ends. Raises ProtocolError."""
        backend, features = hello.get("backend"), hello.get("features")
        if not isinstance(backend, str) or not isinstance(features, list):
            raise ProtocolError("a page's hello lacks backend or features")
        await peer.send({"re": hello.get("id"), "files": self._files_path})
        self._subscribers[peer] = backend, tuple(map(str, features))
        try:
            peer.start(self._send(peer))
            async for _ in frames:
                raise ProtocolError("a page sends no message after its hello")
        finally:
            del self._subscribers[peer]

    async def watch(self) -> None:
        """Runs until it is cancelled."""
        while self._model is not None:
            await asyncio.sleep(POLL)
            if self._model.has_changed():
                for peer in list(self._subscribers):
                    peer.start(self._send(peer))

    async def _send(self, peer: Peer) -> None:
        model, (backend, features) = self._model, self._subscribers[peer]
        if model is None:
            await peer.send({"op": "failed", "message": "this broker serves no model: start `webnn-rpc serve MODEL`"})
            return
        try:
            compiled = await asyncio.to_thread(model.compiled, backend, features)
            for sha256, data in compiled.contents.items():
                if self._files.missing([sha256]):
                    self._files.put(sha256, data)
        except (ServingError, StoreError) as error:
            await peer.send({"op": "failed", "message": str(error)})
            return
        await peer.send({"op": "model", "name": model.name, "manifest": compiled.fields})
