"""Real peers that have to stop in the middle of a unit, and what a real server makes of what was done."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.peer.session.test_preemption import Metadata, service
from tests.integration.peer.units.digits_units import EXAMPLES, SHARDS, recorded, serving
from tests.integration.server.units.test_target import idle_on
from tests.support.peer.peer_process import Peer, joined
from tests.support.peer.update_witness import share_done
from tests.support.timeouts import HEAVY, eventually
from tests.support.web.server_process import Server
from tests.support.web.unit_client import UnitClient

pytestmark = pytest.mark.tensorflow


def plan(epochs: int, batch_size: int) -> tuple[str, ...]:
    """Flags that have a unit take many steps."""
    return tuple(
        word
        for key, value in (("epochs", epochs), ("batch_size", batch_size))
        for word in ("--set", f"digits.training.{key}={value}")
    )


# Nobody is too slow for a whole shard.
WHOLE = "epochs = 1\nevaluate_every = 100\nseconds = 86400"
# Half of the first two is over in seconds, of the last in minutes.
LESS, LONG, VERY_LONG = plan(120, 4), plan(320, 4), plan(1000, 1)
TWICE = """[coordination.units.trust]
replicas = 2
spot_checks = 0.0
networks = ["127.0.0.0/8"]
"""


@contextmanager
def at_work(home: Path, server: Server, *words: str) -> Iterator[Peer]:
    """A peer that is told to stop in the midst of training, with how far it is in `home`."""
    home.mkdir(exist_ok=True)
    with joined(home, server.url, *words, witness=home) as peer:
        peer.expect("training")
        yield peer


def beyond(home: Path, share: float) -> None:
    """Waits until more than this share of the unit in training is done."""
    eventually(lambda: share_done(home) > share, "the peer does not get on")


async def do_the_rest(server: Server) -> None:
    """Another client does what is left of the epoch."""
    async with UnitClient(server.url, "digits") as client:
        await idle_on(client)


def whole_epoch(server: Server) -> dict[str, list[int]]:
    """Examples of all results by client, of an epoch that has each row of each shard once."""
    rows = recorded(server)
    counted: Counter[int] = Counter()
    for row in rows:
        counted[int(row["shard"])] += int(row["examples"])
    assert counted == dict.fromkeys(range(SHARDS), EXAMPLES)
    assert [int(row["number"]) for row in rows] == list(range(1, len(rows) + 1))
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(row["client"], []).append(int(row["examples"]))
    return found


def credited(server: Server) -> dict[str, int]:
    """Examples that each client was credited."""
    rows = server.get("/api/tasks/digits/contributions")["contributions"]
    return {row["client"]: row["examples"] for row in rows}


@pytest.fixture
def leaving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Metadata]:
    """The metadata service of a provider's machine that peers believe to be on."""
    with service() as (metadata, place):
        monkeypatch.setenv("GCE_METADATA_HOST", place)
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")
        yield metadata


@pytest.mark.long
@pytest.mark.parametrize("word", ["SIGTERM", "the provider's notice"])
def test_what_was_done_of_a_unit_counts_and_the_rest_of_the_epoch_is_done_by_others(
    digits: Path, tmp_path: Path, leaving: Metadata, word: str
) -> None:
    with serving(digits, tmp_path / "server", WHOLE, *LONG) as server:
        with at_work(tmp_path / "home", server, "--preemptible") as peer:
            me = next(told["client"] for told in peer.seen if told["event"] == "connected")
            beyond(tmp_path / "home", 0.5)
            if word == "SIGTERM":
                peer.process.send_signal(signal.SIGTERM)
            else:
                leaving.taken = True
            sent = peer.expect("partial")
            assert peer.end() == (0, "")
        assert 0.5 < sent["steps"] / sent["planned"] < 1
        asyncio.run(do_the_rest(server))
        mine, others = whole_epoch(server).pop(me), whole_epoch(server)
        # In rows of the unit: it saw each of them as often as the share of its passes says.
        assert mine == [EXAMPLES * sent["steps"] // sent["planned"]]
        (theirs,) = (examples for client, examples in others.items() if client != me)
        assert sorted(theirs) == [EXAMPLES - mine[0], *[EXAMPLES] * (SHARDS - 1)]
        (part,) = (row for row in recorded(server) if row["client"] == me)
        (rest,) = (row for row in recorded(server) if int(row["first step"]))
        assert (rest["shard"], int(rest["first step"])) == (part["shard"], sent["steps"])
        assert int(part["visits"]) + int(rest["visits"]) == EXAMPLES * sent["planned"] // (EXAMPLES // 4)
        assert credited(server)[me] == mine[0]


@pytest.mark.timeout(HEAVY)
def test_less_than_half_of_a_unit_is_given_back_and_done_whole_by_somebody_else(
    digits: Path, tmp_path: Path
) -> None:
    with serving(digits, tmp_path / "server", WHOLE, *VERY_LONG) as server:
        with at_work(tmp_path / "home", server) as peer:
            beyond(tmp_path / "home", 0.0)
            assert peer.stop() == 0
            sent = peer.expect("partial")
        assert 0 < sent["steps"] / sent["planned"] < 0.5
        asyncio.run(do_the_rest(server))
        ((_, examples),) = whole_epoch(server).items()
        assert examples == [EXAMPLES] * SHARDS


@pytest.mark.long
@pytest.mark.timeout(2 * HEAVY)
def test_what_a_newcomer_did_of_a_unit_is_compared_with_as_many_steps_of_another(
    digits: Path, tmp_path: Path
) -> None:
    with serving(digits, tmp_path / "server", WHOLE, *LESS, more=TWICE) as server:
        with at_work(tmp_path / "one", server) as one:
            beyond(tmp_path / "one", 0.5)
            assert one.stop() == 0
            sent = one.expect("partial")
            assert one.expect("taken")["waits"]
        with at_work(tmp_path / "other", server) as other:
            counted = other.expect("counted", HEAVY)
        done = (tmp_path / "other" / "steps").read_text().split("\n")
        eventually(lambda: bool(recorded(server)), "the result is not in the model")
        (row,) = recorded(server)
    assert f"{sent['steps']} {sent['steps']}" in done
    assert counted["examples"] == int(row["examples"]) == EXAMPLES * sent["steps"] // sent["planned"]


def test_a_peer_whose_server_never_comes_back_says_what_to_do(digits: Path, tmp_path: Path) -> None:
    with (
        serving(digits, tmp_path / "server", WHOLE, *VERY_LONG) as server,
        at_work(tmp_path / "home", server, "--give-up-after", "5") as peer,
    ):
        server.stop(signal.SIGKILL)
        peer.expect("offline")
        code, complaint = peer.end()
    assert code == 2
    assert complaint.startswith("minga: The server is away (")
    assert complaint.endswith(
        "this peer gives up after 5 s. Ask the server's operator, and join again when it is back.\n"
    )
