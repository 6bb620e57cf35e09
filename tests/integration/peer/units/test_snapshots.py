from __future__ import annotations

import asyncio

import numpy as np
import pytest

from backend.errors import UnreachableError
from backend.peer.training.step import Vector
from backend.peer.units.snapshots import FetchedWeights

ONE, TWO = "a" * 64, "b" * 64


class Source:
    """Gives vectors once it is `open`; `asked` says for which, and `fails` how often in vain."""

    def __init__(self, fails: int = 0) -> None:
        self.asked: list[str] = []
        self.open = asyncio.Event()
        self._fails = fails

    async def fetch(self, address: str) -> Vector:
        self.asked.append(address)
        await self.open.wait()
        if self._fails:
            self._fails -= 1
            raise UnreachableError("The server is away.")
        return np.full(3, len(self.asked), np.float32)


async def test_leases_that_name_the_same_weights_share_them() -> None:
    source = Source()
    snapshots = FetchedWeights(source.fetch)
    taking = [asyncio.create_task(snapshots.take(lease, ONE)) for lease in (1, 2, 3)]
    source.open.set()
    first, *others = await asyncio.gather(*taking)
    assert all(other is first for other in others)
    snapshots.release(1)
    snapshots.release(2)
    assert await snapshots.take(4, ONE) is first
    assert source.asked == [ONE]


async def test_weights_are_forgotten_with_the_last_lease_that_names_them() -> None:
    source = Source()
    source.open.set()
    snapshots = FetchedWeights(source.fetch)
    await snapshots.take(1, ONE)
    await snapshots.take(2, TWO)
    snapshots.release(1)
    snapshots.release(1)
    await snapshots.take(3, ONE)
    assert source.asked == [ONE, TWO, ONE]


async def test_who_asks_again_after_a_failure_has_them_fetched_again() -> None:
    source = Source(fails=1)
    source.open.set()
    snapshots = FetchedWeights(source.fetch)
    with pytest.raises(UnreachableError):
        await snapshots.take(1, ONE)
    assert (await snapshots.take(1, ONE)).tolist() == [2, 2, 2]


async def test_a_lease_that_is_forgotten_takes_nothing_from_another() -> None:
    source = Source()
    snapshots = FetchedWeights(source.fetch)
    first = asyncio.create_task(snapshots.take(1, ONE))
    second = asyncio.create_task(snapshots.take(2, ONE))
    await asyncio.sleep(0)
    first.cancel()
    snapshots.release(1)
    source.open.set()
    assert (await second).tolist() == [1, 1, 1]
