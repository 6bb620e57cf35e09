"""A crowd that fills the server leaves volunteers of work units without a reason: their browsers drop it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from backend.server.schemes import SCHEMES
from backend.wire.codec import decode_server
from backend.wire.messages import Closing
from backend.wire.unit_messages import UNITS_PROTOCOL
from tests.support.attacks.units_server import units_server
from tests.support.web.server_process import Server

# As any page does: opens a socket, and tells what it hears of it.
OPEN = """([url, protocol]) => new Promise((done) => {
  const socket = new WebSocket(url, protocol), heard = [];
  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) => heard.push(new TextDecoder().decode(data));
  socket.onclose = ({ code, reason }) => done({ code, reason, heard: heard.join(" ") });
  if (%s) setTimeout(() => socket.close(), 1000);
})"""


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Server]:
    """A server to which each visitor may open one socket a minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_JOINS_PER_MINUTE", "1")
        with units_server(tmp_path) as server:
            yield server


def address_of(server: Server) -> str:
    return f"{server.url.replace('http', 'ws', 1)}/api/tasks/tiny/socket"


@pytest.mark.parametrize("protocol", [scheme.socket.protocol for scheme in SCHEMES.values()])
async def test_a_refused_socket_of_each_scheme_has_the_subprotocol_that_it_asked_for(
    full: Server, protocol: str
) -> None:
    asked, first = [Subprotocol(protocol)], [Subprotocol(UNITS_PROTOCOL)]
    async with (
        connect(address_of(full), subprotocols=first),
        connect(address_of(full), subprotocols=asked) as refused,
    ):
        # A browser fails the connection, and shows nothing that came over it, where this differs.
        assert refused.subprotocol == protocol
        frame: Any = await refused.recv()
        closing = decode_server(frame)
        assert isinstance(closing, Closing)
        assert (closing.code, "a minute" in closing.reason) == ("too-fast", True)
        with pytest.raises(ConnectionClosed):
            await refused.recv()


@pytest.mark.browser
async def test_chromium_shows_a_volunteer_of_work_units_why_it_is_refused(
    browser: Browser, full: Server
) -> None:
    page = await (await browser.new_context()).new_page()
    await page.goto(full.url)
    first = await page.evaluate(OPEN % "true", [address_of(full), UNITS_PROTOCOL])
    assert first["code"] == 1005
    told = await page.evaluate(OPEN % "false", [address_of(full), UNITS_PROTOCOL])
    assert told["code"] == 4029
    assert "a minute may" in told["reason"]
    assert "too-fast" in told["heard"]
