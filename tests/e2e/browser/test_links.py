"""Pages of Chromium link to each other, by WebRTC and through the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.support.browser.linked_pages import PagePeer, Switch, page_peer
from tests.support.browser.linked_peer import python_peer
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import build_harness

pytestmark = pytest.mark.browser

ANN, BO = "00000000000000aa", "00000000000000bb"


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with serve({"/harness/": build_harness()}) as address:
        yield address


async def pair(browser: Browser, origin: str, switch: Switch, *ways: str) -> tuple[PagePeer, PagePeer]:
    ann = await page_peer(browser, origin, switch, ANN, ways)
    bo = await page_peer(browser, origin, switch, BO, ways)
    await asyncio.gather(ann.introduce(switch), bo.introduce(switch))
    return ann, bo


async def test_two_pages_link_by_webrtc_and_what_waits_is_bounded(browser: Browser, origin: str) -> None:
    ann, bo = await pair(browser, origin, Switch(), "webrtc", "relay")
    await asyncio.gather(ann.linked(BO, "webrtc"), bo.linked(ANN, "webrtc"))
    there, back = await asyncio.gather(ann.fetch(BO, 4_000_003), bo.fetch(ANN, 4_000_003))
    for fetched in (there, back):
        assert fetched["sound"]
        assert fetched["waited"] < (1 << 21) + 16_384
    assert (await ann.page.evaluate("told"))[-1] == f"up {BO} webrtc"


async def test_pages_that_cannot_link_are_relayed_sealed(browser: Browser, origin: str) -> None:
    switch = Switch()
    ann, bo = await pair(browser, origin, switch, "relay")
    await asyncio.gather(ann.linked(BO, "relay"), bo.linked(ANN, "relay"))
    fetched = await ann.fetch(BO, 1_000_001)
    assert fetched["sound"]
    assert switch.parcels >= 16


async def test_a_link_by_webrtc_goes_on_without_the_server(browser: Browser, origin: str) -> None:
    switch = Switch()
    ann, bo = await pair(browser, origin, switch, "webrtc", "relay")
    await asyncio.gather(ann.linked(BO, "webrtc"), bo.linked(ANN, "webrtc"))
    switch.cut = {ANN, BO}
    fetched = await ann.fetch(BO, 500_000)
    assert fetched["sound"]
    # After a sleep a link has to show that it still stands: Bo's next beat does, which Ann measures.
    before = await ann.page.evaluate("() => { wake(); return measures().measures[0].seconds; }")
    await ann.page.wait_for_function("before => measures().measures[0].seconds !== before", arg=before)
    assert (await ann.page.evaluate("told"))[-1] == f"up {BO} webrtc"


# The next question of a connection ends the attempt: the server says that it cannot reach the other page.
END_ATTEMPT = """other => {
  const { setLocalDescription } = RTCPeerConnection.prototype;
  RTCPeerConnection.prototype.setLocalDescription = function () {
    RTCPeerConnection.prototype.setLocalDescription = setLocalDescription;
    const asked = setLocalDescription.call(this);
    hear(other, "unreachable", "");
    return asked;
  };
}"""


async def test_an_attempt_that_ends_while_the_browser_answers_does_not_prevent_the_next_one(
    browser: Browser, origin: str
) -> None:
    switch = Switch()
    ann = await page_peer(browser, origin, switch, ANN, ("webrtc",))
    bo = await page_peer(browser, origin, switch, BO, ("webrtc",))
    await ann.page.evaluate(END_ATTEMPT, BO)
    await asyncio.gather(ann.introduce(switch), bo.introduce(switch))
    await asyncio.gather(ann.linked(BO, "webrtc"), bo.linked(ANN, "webrtc"))


async def test_who_closes_the_page_is_gone_and_comes_back_over_a_new_link(
    browser: Browser, origin: str
) -> None:
    switch = Switch()
    ann, bo = await pair(browser, origin, switch, "webrtc", "relay")
    await asyncio.gather(ann.linked(BO, "webrtc"), bo.linked(ANN, "webrtc"))
    await bo.page.evaluate("leave()")
    await ann.page.wait_for_function("() => told.includes('down 00000000000000bb')")
    # The server says who left: an attempt that nobody answers would stand in the way of the next for 20 s.
    await ann.page.evaluate("members => window.members(members)", switch.members[:1])
    identity = await bo.page.evaluate("([task, client]) => window.begin(task, client, [])", ["digits", BO])
    assert identity == switch.members[1]["identity"]
    await asyncio.gather(ann.introduce(switch), bo.introduce(switch))
    await asyncio.gather(ann.linked(BO, "webrtc"), bo.linked(ANN, "webrtc"))
    assert (await bo.fetch(ANN, 100_000))["sound"]


@pytest.mark.parametrize(("page_id", "peer_id"), [(ANN, BO), (BO, ANN)], ids=["page begins", "peer begins"])
async def test_a_page_and_a_python_peer_link_by_webrtc(
    browser: Browser, origin: str, tmp_path: Path, page_id: str, peer_id: str
) -> None:
    switch = Switch()
    page = await page_peer(browser, origin, switch, page_id)
    async with python_peer(tmp_path, switch, peer_id, ("webrtc", "relay")) as peer:
        peer.introduce()
        await page.introduce(switch)
        await asyncio.gather(page.linked(peer_id, "webrtc"), peer.linked(page_id, "webrtc"))
        fetched, _ = await asyncio.gather(page.fetch(peer_id, 1_000_003), peer.fetch(page_id, 1_000_003))
        assert fetched["sound"]
        assert fetched["waited"] < (1 << 21) + 16_384
    # The peer said that it leaves.
    await page.page.wait_for_function(f"() => told.includes('down {peer_id}')")


@pytest.mark.parametrize(("page_id", "peer_id"), [(ANN, BO), (BO, ANN)], ids=["page begins", "peer begins"])
async def test_a_page_and_a_python_peer_are_relayed_sealed(
    browser: Browser, origin: str, tmp_path: Path, page_id: str, peer_id: str
) -> None:
    switch = Switch()
    page = await page_peer(browser, origin, switch, page_id)
    async with python_peer(tmp_path, switch, peer_id, ("relay",)) as peer:
        peer.introduce()
        await page.introduce(switch)
        await asyncio.gather(page.linked(peer_id, "relay"), peer.linked(page_id, "relay"))
        fetched, _ = await asyncio.gather(page.fetch(peer_id, 300_000), peer.fetch(page_id, 300_000))
        assert fetched["sound"]
    assert switch.parcels > 8
