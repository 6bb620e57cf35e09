"""Real peers learn the digits in a mesh whose members check each other, and no liar spoils it."""

from __future__ import annotations

import pytest

from tests.support.peer.byzantine_company import ByzantineCompany, same_bits
from tests.support.timeouts import LONG

pytestmark = pytest.mark.tensorflow


def test_four_peers_learn_the_digits_with_the_same_bits_and_validate_each_other(
    company: ByzantineCompany,
) -> None:
    company.serve(rounds=12, min_available_clients=4, averaging={"patience": 10.0})
    peers = [company.join() for _ in range(4)]
    for peer in peers:
        peer.expect("finished", LONG)
        assert peer.end() == (0, "")
    weights = same_bits(peers)
    assert sorted(weights) == list(range(1, 13))
    task = company.server.get("/api/tasks/digits")
    assert (task["version"], task["weights"]) == (12, weights[12])
    checked = [one for peer in peers for one in peer.seen if one["event"] == "checking"]
    assert len(checked) == 11
    state = company.state(1)
    assert state.round == 12
    assert not state.membership.banned
    assert len(state.membership.seats) == 4


def test_a_peer_that_flips_the_sign_of_its_work_is_banned_by_all_and_the_others_learn(
    company: ByzantineCompany,
) -> None:
    company.serve(rounds=40, min_available_clients=4, averaging={"patience": 4.0})
    peers = [company.join() for _ in range(3)]
    company.join(liar="sign")
    for peer in peers:
        peer.expect("finished", LONG)
        assert peer.end() == (0, "")
    same_bits(peers)
    state = company.state(1)
    assert len(state.membership.banned) == 1
    assert len(state.membership.seats) == 3
