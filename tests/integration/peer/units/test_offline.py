"""A peer that takes work for a time without a connection, over a real line that is cut."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.integration.peer.units.digits_units import SHARDS, recorded, serving
from tests.support.environment.tcp_forwarder import switched
from tests.support.peer.peer_process import joined
from tests.support.timeouts import HEAVY, PATIENCE
from tests.support.web.server_process import Server

pytestmark = pytest.mark.tensorflow

# Heartbeats come every second.
LEASE = 3
LONG = ("--set", "digits.training.epochs=40")


def figures(server: Server, name: str) -> dict[str, float]:
    """The metric's values by their labels without the task's."""
    with urlopen(f"{server.url}/metrics", timeout=PATIENCE) as answer:
        text = answer.read().decode()
    found = re.findall(rf"^minga_{name}{{(.*?)}} (\S+)$", text, re.MULTILINE)
    return {re.sub(r',?task="digits",?', "", labels): float(value) for labels, value in found}


@pytest.mark.long
@pytest.mark.timeout(HEAVY)
async def test_a_peer_trains_its_buffer_offline_and_all_results_count(digits: Path, tmp_path: Path) -> None:
    table = f"epochs = 1\nlease = {LEASE}\noffline = 900"
    with serving(digits, tmp_path / "server", table, *LONG) as server:
        async with switched(server.url) as line:
            with joined(tmp_path / "home", line.url, "--offline", "3600") as peer:
                told = await asyncio.to_thread(peer.expect, "offline")
                assert told["message"] == (
                    "This task leases units for at most 900 s without a connection, not for longer."
                )
                while told.get("units", 0) < SHARDS - 3:
                    told = await asyncio.to_thread(peer.expect, "buffered")
                assert figures(server, "units")['state="open"'] == 0
                assert line.cut() > 0
                done = figures(server, "units")['state="done"']
                while sum(one["event"] == "training" for one in peer.seen) < SHARDS:
                    await asyncio.to_thread(peer.expect, "training")
                await asyncio.sleep(2 * LEASE)
                # Nobody else was here, and yet each lease would be over twice.
                units = figures(server, "units")
                assert (units['state="done"'], units['state="open"']) == (done, 0)
                line.mend()
                await asyncio.to_thread(peer.expect, "finished")
                assert await asyncio.to_thread(peer.end) == (0, "")
        assert len(recorded(server)) == SHARDS
        assert figures(server, "units_leased_total") == {"": SHARDS}
        assert figures(server, "units_returned_total") == {'late="no"': SHARDS}
