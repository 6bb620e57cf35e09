"""Real peers on a real server's work units."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.integration.peer.session.test_preemption import service
from tests.integration.peer.units.digits_units import SHARDS, serving
from tests.support.peer.peer_process import joined
from tests.support.timeouts import PATIENCE, eventually
from tests.support.web.server_process import Server

pytestmark = pytest.mark.tensorflow

TWICE = """[coordination.units.trust]
replicas = 2
spot_checks = 0.0
networks = ["127.0.0.0/8"]
"""


@pytest.fixture
def lengthy(digits: Path, tmp_path: Path) -> Iterator[Server]:
    """Units that take so long that nobody finishes one by chance."""
    with serving(digits, tmp_path / "server", "epochs = 1", "--set", "digits.training.epochs=1000") as one:
        yield one


def given_back(server: Server) -> dict[str, float]:
    """How many units were given back, by cause."""
    with urlopen(f"{server.url}/metrics", timeout=PATIENCE) as answer:
        text = answer.read().decode()
    found = re.findall(r'minga_units_released_total\{cause="(\w+)",task="digits"\} (\S+)', text)
    return {cause: float(count) for cause, count in found}


def test_two_peers_do_each_unit_twice_and_the_model_learns(digits: Path, tmp_path: Path) -> None:
    with (
        serving(digits, tmp_path / "server", "epochs = 2", more=TWICE) as server,
        joined(tmp_path / "one", server.url, "--at-once", "2") as one,
        joined(tmp_path / "other", server.url) as other,
    ):
        for peer in (one, other):
            peer.expect("finished")
            assert peer.end() == (0, "")
        rows = server.get("/api/tasks/digits/contributions")["contributions"]
        assert [(row["kind"], row["backend"]) for row in rows] == [("peer", "tensorflow-cpu")] * 2
        assert server.get("/api/tasks/digits")["version"] == 2
        versions = server.measured_versions("digits")
    news = [*one.seen, *other.seen]
    assert sum(told["event"] == "rejected" for told in news) == 0
    assert sum(told["blended"] for told in news if told["event"] == "counted") >= 2 * SHARDS - 1
    measured = [one["evaluation"]["metrics"]["accuracy"] for one in versions if one["evaluation"]]
    assert max(measured) > 0.5


def test_a_preempted_peer_gives_its_units_back_and_ends(
    lengthy: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service() as (metadata, place):
        monkeypatch.setenv("GCE_METADATA_HOST", place)
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")
        with joined(tmp_path / "home", lengthy.url, "--preemptible") as peer:
            peer.expect("training")
            metadata.taken = True
            assert peer.expect("preempted")["provider"] == "Google Compute Engine"
            assert peer.end() == (0, "")
    # Of the two units in hand one was queued; the other was in training, perhaps before its first step.
    eventually(lambda: bool(given_back(lengthy)), "the server does not know what came back")
    assert set(given_back(lengthy)) == {"preempted"}


def test_a_peer_that_was_killed_comes_back_to_its_units_and_its_shards(
    lengthy: Server, tmp_path: Path
) -> None:
    with joined(tmp_path / "home", lengthy.url) as peer:
        lease = peer.expect("training")["lease"]
        peer.stop(signal.SIGKILL)
    # It may have been killed while it wrote the next one.
    (shelf,) = (tmp_path / "home" / ".local" / "state" / "minga" / "shelves").glob("[!.]*")
    shards = json.loads(shelf.read_bytes())
    assert shards
    assert all((tmp_path / "home" / "cache" / shard).is_file() for shard in shards)
    with joined(tmp_path / "home", lengthy.url) as peer:
        # It had this one and one more, of which either may be fetched first; new ones have later numbers.
        assert abs(peer.expect("training")["lease"] - lease) <= 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--listen", "127.0.0.1:0"], "In this task the server averages, and no peer connects"),
        (["--min-masked", "8"], "This task checks each result individually, and nothing is masked"),
        (["--min-noise", "1"], "Clients add noise only in tasks whose server sums updates"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    lengthy: Server, tmp_path: Path, words: list[str], sentence: str
) -> None:
    with joined(tmp_path / "home", lengthy.url, *words) as peer:
        code, complaint = peer.end()
    assert code == 2
    assert complaint.startswith("minga: " + sentence)
