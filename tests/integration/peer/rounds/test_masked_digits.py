"""Real peers train the digits under secure aggregation, and tell their operators what they do."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.peer.peer_process import joined
from tests.support.web.server_process import running

pytestmark = pytest.mark.tensorflow

PEERS = 3
SET = {
    "coordination.min_available_clients": PEERS,
    "coordination.quorum": PEERS,
    # A busy machine loses nobody.
    "coordination.deadline": "300",
    "coordination.adaptive_deadline": "false",
    "security.aggregation": '["masked"]',
    "security.masking.min_clients": PEERS,
}
MASKED = [word for key, value in SET.items() for word in ("--set", f"digits.{key}={value}")]
GOOD = 0.94


@pytest.mark.parametrize(
    ("more", "rounds"),
    [
        ([], 8),
        (['masking.server="active"', "masking.bits=20"], 8),
        # Who sends a quarter of the values at a time takes longer. test_masked_sparse_updates has its sums.
        pytest.param(["masking.share=0.25", "masking.bits=24"], 20, marks=pytest.mark.long),
    ],
)
def test_three_peers_learn_the_digits_though_nobody_sees_their_updates(
    digits: Path, tmp_path: Path, more: list[str], rounds: int
) -> None:
    flags = [*MASKED, "--set", f"digits.coordination.rounds={rounds}"]
    flags += [word for change in more for word in ("--set", f"digits.security.{change}")]
    with ExitStack() as stack:
        server = stack.enter_context(running(digits, tmp_path / "data", *flags))
        homes = [tmp_path / f"home{number}" for number in range(PEERS)]
        peers = [stack.enter_context(joined(home, server.url, "--min-masked", "3")) for home in homes]
        for peer in peers:
            peer.expect("finished")
            assert peer.end()[0] == 0
            accepted = [news for news in peer.seen if news["event"] == "accepted"]
            assert [news["masked"] for news in accepted] == [PEERS] * rounds
            assert "masked among 3 clients" in accepted[0]["message"]
        versions = server.measured_versions("digits")
        rows = server.get("/api/tasks/digits/contributions")["contributions"]
    measured = [one["evaluation"]["metrics"]["accuracy"] for one in versions if one["evaluation"]]
    assert max(measured) >= GOOD
    assert [(row["accepted"], row["examples"]) for row in rows] == [(rounds, 0)] * PEERS
    # Two epochs of four shards of a hundred examples each, and the server knows their sum.
    assert all(one["examples"] > 1000 for one in versions[1:])


def test_a_peer_that_wants_to_be_masked_leaves_an_open_task(digits: Path, tmp_path: Path) -> None:
    with (
        running(digits, tmp_path / "data") as server,
        joined(tmp_path / "home", server.url, "--min-masked", "3") as peer,
    ):
        code, complaint = peer.end()
    assert code == 2
    assert "This task takes unmasked updates, and you require masking." in complaint


def test_a_peer_does_not_train_with_those_who_are_not_on_its_list(digits: Path, tmp_path: Path) -> None:
    flags = (*MASKED, "--set", "digits.coordination.deadline=20")
    friends = tmp_path / "friends.txt"
    friends.write_text(f"# Nobody we know\n{'0' * 64}  Ana\n")
    with ExitStack() as stack:
        server = stack.enter_context(running(digits, tmp_path / "data", *flags))
        wary = stack.enter_context(joined(tmp_path / "wary", server.url, "--roster", str(friends)))
        for number in range(PEERS - 1):
            stack.enter_context(joined(tmp_path / f"home{number}", server.url))
        news = wary.expect("unsafe")
        assert "changed its identity, or is not on the list" in news["message"]
        assert server.get("/api/tasks/digits")["version"] == 0


def test_a_machine_has_one_identity(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "backend", "peer", "identity"]
    said = [subprocess.check_output(command, env={"HOME": str(tmp_path)}, text=True) for _ in range(2)]
    assert said[0] == said[1]
    assert len(bytes.fromhex(said[0].strip())) == 32
