"""A server of work units that is killed under its peers: they go on, and each unit counts once."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.peer.units.digits_units import EXAMPLES, SHARDS, recorded, serving
from tests.support.peer.peer_process import joined
from tests.support.timeouts import HEAVY
from tests.support.web.server_process import running

pytestmark = pytest.mark.tensorflow

EPOCHS = 2
# Nobody is too slow for a whole shard.
UNITS = f"epochs = {EPOCHS}\nevaluate_every = 100\nseconds = 86400"
# So many passes over a unit's rows that a kill meets both peers in the midst of one.
FLAGS = ("--set", "digits.training.epochs=25")


@pytest.mark.timeout(HEAVY)
def test_peers_go_on_after_a_kill_and_no_unit_is_lost_or_counted_twice(digits: Path, tmp_path: Path) -> None:
    folder = tmp_path / "server"
    with (
        serving(digits, folder, UNITS, *FLAGS) as server,
        joined(tmp_path / "one", server.url) as one,
        joined(tmp_path / "other", server.url) as other,
    ):
        for peer in (one, other):
            peer.expect("counted")
            peer.expect("training")
        server.stop(signal.SIGKILL)
        one.expect("offline")
        port = server.url.rpartition(":")[2]
        with running(folder / "digits", folder / "data", *FLAGS, "--port", port) as again:
            for peer in (one, other):
                peer.expect("connected")
                peer.expect("finished")
                assert peer.end() == (0, "")
            rows = recorded(again)
            credits = again.get("/api/tasks/digits/contributions")["contributions"]
            versions = again.get("/api/tasks/digits/versions")["versions"]
    assert [int(row["number"]) for row in rows] == list(range(1, EPOCHS * SHARDS + 1))
    trained = Counter((int(row["epoch"]), int(row["shard"])) for row in rows)
    assert trained == Counter((epoch, shard) for epoch in (1, 2) for shard in range(SHARDS))
    done = Counter(row["client"] for row in rows)
    assert {row["client"]: row["accepted"] for row in credits if row["accepted"]} == done
    assert all(row["examples"] == EXAMPLES * row["accepted"] for row in credits)
    assert [row["accepted"] for row in versions if row["version"]] == [SHARDS] * EPOCHS
