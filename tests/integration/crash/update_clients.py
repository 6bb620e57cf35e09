"""Clients that deliver updates as fast as a server takes them, until it is gone."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import numpy as np
from websockets.exceptions import WebSocketException

from backend.wire.messages import ServerFrame, Train, Version
from tests.support.tasks.tiny_task import SIZE
from tests.support.web.rounds_client import Client


class Crowd:
    """Some clients with lasting names. `told` is the newest version that any of them was told of.

    `news` is set whenever one of them is told of one.
    """

    def __init__(self, size: int, name: str) -> None:
        self._tokens = [f"{name}-client-{number}-0123456789" for number in range(size)]
        self._seed = 0
        self.told = 0
        self.news = asyncio.Event()

    async def work(self, url: str) -> None:
        """Takes part until the connections break."""
        await asyncio.gather(*(self._take_part(url, token) for token in self._tokens))

    async def _take_part(self, url: str, token: str) -> None:
        with suppress(OSError, WebSocketException, TimeoutError, EOFError):
            async with Client(url, token=token) as client:
                await client.ready()
                while True:
                    heard: Train | Version = await client.next(Train, Version)
                    if isinstance(heard, Version):
                        self._heard(heard)
                        continue
                    update = self._update()
                    await client.deliver(heard, update)
                    for message in client.heard:
                        self._heard(message)
                    client.heard.clear()

    def _heard(self, message: ServerFrame) -> None:
        if isinstance(message, Version):
            self.told = max(self.told, message.version)
            self.news.set()

    def _update(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Now and then one that is refused."""
        self._seed += 1
        update = np.random.default_rng(self._seed).normal(size=SIZE)
        return update * np.nan if self._seed % 7 == 0 else update
