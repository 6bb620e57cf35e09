"""Pages of Chromium and a Python peer average over WebRTC and relayed: all have the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser

from backend.wire.mesh_fields import Exchange, Precision, Way
from tests.support.browser.averaging_peers import average_together, linked_members, order_of
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import build_harness

pytestmark = pytest.mark.browser

VALUES = 300_001
PLANS: list[tuple[Exchange, Precision]] = [("butterfly", "float16"), ("full", "int8"), ("ring", "float32")]


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with serve({"/harness/": build_harness()}) as address:
        yield address


@pytest.mark.parametrize(
    ("kinds", "way"),
    [(("page", "peer", "page"), "webrtc"), pytest.param(("peer", "page"), "relay", marks=pytest.mark.long)],
    ids=["by WebRTC", "relayed"],
)
async def test_pages_and_a_peer_average_to_the_same_bits(
    browser: Browser, origin: str, tmp_path: Path, kinds: tuple[str, ...], way: Way
) -> None:
    plans: list[tuple[Exchange, Precision]] = [
        ("butterfly", "float16"),
        ("full", "int8"),
        ("ring", "float32"),
    ]
    async with linked_members(browser, origin, tmp_path, kinds, way) as members:
        for number, (exchange, precision) in enumerate(plans, 1):
            order = order_of(members, VALUES, number, exchange, precision)
            ends = await average_together(members, order)
            assert len({end["sha256"] for end in ends}) == 1
            for end in ends:
                assert (end["survivors"], end["fraction"]) == (list(range(len(kinds))), 1.0)
