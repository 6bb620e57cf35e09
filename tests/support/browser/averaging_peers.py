"""Peers in pages and in Python that average in groups without a server."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from playwright.async_api import Browser

from backend.peer.mesh.exchange import Exchange
from backend.protocols.mesh.grouping import part_bounds
from backend.wire.mesh_fields import Exchange as ExchangeKind
from backend.wire.mesh_fields import Precision, Way
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import OfGroup, PeerFrame
from tests.support.browser.linked_pages import PagePeer, Switch, page_peer
from tests.support.browser.linked_peer import PythonPeer
from tests.support.peer.tcp_member import BUNDLE, TASK, drawn


class AveragingPeer(PythonPeer):
    """A Python peer that also averages."""

    exchange: Exchange | None = None

    async def average(self, order: Group, draw: int, weight: float) -> dict[str, Any]:
        """Averages in a group; returns `sha256`, `seconds`, `survivors`, `fraction`."""
        self.close_group()
        vector = drawn(draw, order.bounds[-1])
        self.links.set_group_patience(order.patience)
        self.exchange = exchange = Exchange(order, self.client, vector, weight, self.links, TASK, BUNDLE)
        exchange.start()
        for client in self.links.linked():
            exchange.up(client)
        end = await exchange.result()
        self.links.set_group_patience(None)
        digest = hashlib.sha256(end.mean.astype("<f4").tobytes()).hexdigest()
        ended = {"survivors": end.survivors, "fraction": end.fraction, "seconds": end.seconds}
        return {"sha256": digest, **ended}

    def close_group(self) -> None:
        """Leaves the current group."""
        if self.exchange is not None:
            self.exchange.close()

    def up(self, client: str, way: Way) -> None:
        super().up(client, way)
        if self.exchange is not None:
            self.exchange.up(client)

    def down(self, client: str, reason: str) -> None:
        super().down(client, reason)
        if self.exchange is not None:
            self.exchange.down(client)

    def received(self, client: str, frame: PeerFrame) -> None:
        if isinstance(frame, OfGroup):
            assert self.exchange is not None, "Pages begin later than this peer."
            self.exchange.frame_received(client, frame)
        else:
            super().received(client, frame)


Member = PagePeer | AveragingPeer


@asynccontextmanager
async def linked_members(
    browser: Browser, origin: str, folder: Path, kinds: Sequence[str], way: Way
) -> AsyncIterator[list[Member]]:
    """Yields a `page` or a `peer` for each of `kinds`, each pair of them linked by `way`."""
    switch = Switch()
    ways: tuple[Way, ...] = ("relay",) if way == "relay" else ("webrtc", "relay")
    clients = [f"{place:016x}" for place in range(len(kinds))]
    async with AsyncExitStack() as stack:
        members: list[Member] = []
        for client, kind in zip(clients, kinds, strict=True):
            if kind == "page":
                members.append(await page_peer(browser, origin, switch, client, ways))
                continue
            peer = AveragingPeer(folder, switch, client, ways)
            await peer.links.open()
            stack.push_async_callback(peer.links.close)
            stack.callback(peer.close_group)
            members.append(peer)
        for member in members:
            if isinstance(member, PagePeer):
                await member.introduce(switch)
            else:
                member.introduce()
        linked = [
            member.linked(other, way) for member in members for other in clients if other != member.client
        ]
        await asyncio.gather(*linked)
        yield members


def order_of(
    members: Sequence[Member],
    values: int,
    number: int,
    exchange: ExchangeKind,
    precision: Precision = "float16",
) -> Group:
    """Returns a group order for all members."""
    return Group(
        round=number,
        group=0,
        members=[member.client for member in members],
        bounds=[0, values] if exchange == "full" else part_bounds(values, [1.0] * len(members)),
        exchange=exchange,
        precision=precision,
        subject="changes",
        reducer="mean",
        least=2,
        most_weight=1000.0,
        patience=10.0,
        seconds=120.0,
    )


async def average_together(members: Sequence[Member], order: Group) -> list[dict[str, Any]]:
    """Averages with all members and returns each member's result.

    The results of pages also tell how long the page `stalled`, in seconds.
    """
    told = {"type": "group", **msgspec.to_builtins(order)}
    script = "([order, draw, weight]) => window.average(order, draw, weight)"

    async def average(place: int, member: Member) -> dict[str, Any]:
        if isinstance(member, AveragingPeer):
            return await member.average(order, place, 1.0 + place)
        said: dict[str, Any] = await member.page.evaluate(script, [told, place, 1.0 + place])
        return said

    # Pages buffer frames that arrive before their order; Python peers do not, so they begin first.
    return await asyncio.gather(*(average(place, member) for place, member in enumerate(members)))
