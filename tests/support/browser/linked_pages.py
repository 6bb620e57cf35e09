"""Pages of Chromium as peers of one mesh, and a stand-in for their task's server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import Browser, Page

from tests.support.timeouts import PATIENCE

TASK = "digits"

Deliver = Callable[[str, str, bytes], Awaitable[None]]
"""Brings a peer what `sender` has for it: `signal` or `relay`, and the bytes."""


class Switch:
    """Introduces peers to each other and forwards their messages, as a task's server does."""

    def __init__(self) -> None:
        self.members: list[dict[str, Any]] = []
        self.parcels = 0
        """Parcels that were relayed."""
        self.cut: set[str] = set()
        """Peers that the server has no connection to."""
        self._deliver: dict[str, Deliver] = {}

    def enter(self, client: str, identity: str, ways: list[str], deliver: Deliver) -> None:
        """Adds a peer; `introduce` informs the others."""
        member = {"client": client, "identity": identity, "kind": "browser", "backend": "cpu", "ways": ways}
        self.members.append({**member, "address": None, "round": 0, "holds": None})
        self._deliver[client] = deliver

    async def carry(self, sender: str, receiver: str, what: str, data: bytes) -> None:
        """Forwards a message of `sender` to `receiver`."""
        if {sender, receiver} & self.cut or receiver not in self._deliver:
            return
        self.parcels += what == "relay"
        with contextlib.suppress(Exception):  # the page may have been closed
            await self._deliver[receiver](sender, what, data)


class PagePeer:
    """A page that is a peer."""

    def __init__(self, page: Page, client: str) -> None:
        self.page = page
        self.client = client

    async def introduce(self, switch: Switch) -> None:
        """Sends the page the members of the mesh."""
        await self.page.evaluate("members => window.members(members)", switch.members)

    async def linked(self, other: str, way: str) -> None:
        """Waits until the link to `other` uses this way."""
        script = "([other, way]) => window.wayTo(other) === way"
        await self.page.wait_for_function(script, arg=[other, way])

    async def fetch(self, other: str, size: int) -> dict[str, Any]:
        """Fetches `size` bytes from `other`; returns `seconds`, and whether they are `sound`."""
        script = "([other, size]) => window.fetchFrom(other, size)"
        result: dict[str, Any] = await asyncio.wait_for(self.page.evaluate(script, [other, size]), PATIENCE)
        return result


async def page_peer(
    browser: Browser, origin: str, switch: Switch, client: str, ways: tuple[str, ...] = ("webrtc", "relay")
) -> PagePeer:
    """Opens a new page that takes part as `client`."""
    page = await (await browser.new_context()).new_page()

    async def carry(receiver: str, what: str, data: str) -> None:
        await switch.carry(client, receiver, what, bytes.fromhex(data))

    async def deliver(sender: str, what: str, data: bytes) -> None:
        await page.evaluate("said => window.hear(...said)", [sender, what, data.hex()])

    await page.expose_function("carry", carry)
    await page.goto(f"{origin}/harness/links.html")
    script = "([task, client]) => window.begin(task, client, [])"
    identity: str = await page.evaluate(script, [TASK, client])
    switch.enter(client, identity, list(ways), deliver)
    return PagePeer(page, client)
