"""Real peers learn the digits in a mesh whose members check each other, and no liar spoils it."""

from __future__ import annotations

import signal

import pytest

from tests.support.peer.byzantine_company import ByzantineCompany, averaged, same_bits
from tests.support.peer.lying_peer import LATE
from tests.support.timeouts import LONG

pytestmark = pytest.mark.tensorflow

ENDLESS = 100_000


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
    found = [one for peer in peers for one in peer.seen if one["event"] == "checked"]
    assert [one["found"] for one in found] == ["same"] * 11
    # The same engine, which rounds alike on the same machine, or nearly.
    assert all(0.0 <= one["distance"] < 0.01 for one in found)
    state = company.state(1)
    assert state.round == 12
    assert not state.membership.banned
    assert len(state.membership.seats) == 4


@pytest.mark.parametrize("lie", ["sign", pytest.param("half", marks=pytest.mark.long)])
def test_a_peer_whose_work_is_other_than_drawn_is_banned_by_all_and_the_others_learn(
    company: ByzantineCompany, lie: str
) -> None:
    # Nobody waits for the banned one, not even once.
    patience = 300.0
    company.serve(rounds=40, min_available_clients=4, averaging={"patience": patience})
    peers = [company.join() for _ in range(3)]
    liar = company.join(liar=lie)
    for peer in peers:
        peer.expect("finished", patience)
        assert peer.end() == (0, "")
    same_bits(peers)
    state = company.state(1)
    assert len(state.membership.banned) == 1
    assert len(state.membership.seats) == 3
    # The banned one has the evidence, too.
    for number in (1, 2, 3, 4):
        [found] = company.convictions(number)
        assert (found.kind, found.identity) == ("majority", state.membership.banned[0])
        assert found.client == found.target
    for one in (liar, company.join(home=company.home(4))):
        code, words = one.end()
        assert code != 0
        assert "The members of this mesh banned this device's key" in words
    shown = company.server.get("/api/tasks/digits/mesh")["state"]
    assert shown["banned"] == [state.membership.banned[0].hex()]
    assert {seat["client"] for seat in shown["seats"]} == {seat.client for seat in state.membership.seats}


def test_a_newcomer_earns_a_seat_by_work_that_is_checked_and_counts_only_then(
    company: ByzantineCompany,
) -> None:
    company.serve(
        rounds=ENDLESS,
        min_available_clients=4,
        byzantine={"probation": 3, "audits": 1},
        averaging={"patience": 6.0},
    )
    founders = [company.join() for _ in range(4)]
    founders[0].expect("averaged", LONG)
    newcomer = company.join()
    newcomer.expect("probation", LONG)
    newcomer.expect("seat", LONG)
    newcomer.expect("averaged", LONG)
    rounds = [one["rounds"] for one in newcomer.seen if one["event"] == "probation"]
    assert rounds == [1, 2]
    same_bits([*founders, newcomer])
    assert newcomer.stop() == 0
    assert len(company.state(5).membership.seats) == 5


def test_all_peers_come_back_with_their_seats_and_bans_after_all_were_killed(
    company: ByzantineCompany,
) -> None:
    company.serve(rounds=ENDLESS, min_available_clients=3, averaging={"patience": 4.0})
    peers = [company.join() for _ in range(3)]
    for peer in peers:
        peer.expect("averaged", LONG)
    for peer in peers:
        peer.process.kill()
        peer.end()
    before = max((company.state(number) for number in (1, 2, 3)), key=lambda state: state.round)
    again = [company.join(home=company.home(number)) for number in (1, 2, 3)]
    for peer in again:
        peer.expect("averaged", LONG)
    same_bits(again)
    after = company.state(1)
    assert after.round > before.round
    assert [seat.identity for seat in after.membership.seats] == [
        seat.identity for seat in before.membership.seats
    ]


def test_a_peer_that_lacks_examples_of_others_says_so_and_is_not_drawn_again(
    company: ByzantineCompany,
) -> None:
    company.serve(rounds=ENDLESS, min_available_clients=3, averaging={"patience": 6.0})
    peers = [company.join() for _ in range(2)]
    shardless = company.join(liar="shardless")
    unable = shardless.expect("unable", LONG)
    # It works on, and its group with it.
    for _ in range(4):
        shardless.expect("averaged", LONG)
    assert shardless.stop() == 0
    checked = [one["round"] for one in shardless.seen if one["event"] == "checking"]
    assert checked == [unable["round"]]
    for peer in peers:
        peer.stop()
    same_bits([*peers, shardless])
    state = company.state(3)
    assert [(one.round, len(state.membership.seats)) for one in state.unable] == [(unable["round"], 3)]
    assert not state.membership.banned
    assert not state.court


@pytest.mark.long
@pytest.mark.parametrize("lie", ["mean", "accuse"])
def test_a_wrong_owner_and_a_false_accuser_are_banned_and_nobody_else(
    company: ByzantineCompany, lie: str
) -> None:
    company.serve(rounds=ENDLESS, min_available_clients=4, averaging={"patience": 4.0})
    peers = [company.join() for _ in range(3)]
    company.join(liar=lie)
    for peer in peers:
        peer.expect("banned", LONG)
        peer.expect("averaged", LONG)
    same_bits(peers)
    state = company.state(1)
    assert len(state.membership.banned) == 1
    assert len(state.membership.seats) == 3


@pytest.mark.long
def test_a_peer_that_stands_still_for_a_while_rests_comes_back_and_is_not_banned(
    company: ByzantineCompany,
) -> None:
    company.serve(rounds=ENDLESS, min_available_clients=3, averaging={"patience": 3.0})
    *peers, sleeper = [company.join() for _ in range(4)]
    averaged(sleeper, LONG, survivors=4)
    sleeper.expect("averaging", LONG)
    sleeper.process.send_signal(signal.SIGSTOP)
    averaged(peers[0], LONG, survivors=3)
    sleeper.process.send_signal(signal.SIGCONT)
    averaged(peers[0], LONG, survivors=4)
    averaged(sleeper, LONG, survivors=4)
    same_bits([*peers, sleeper])
    state = company.state(1)
    assert not state.membership.banned
    assert len(state.membership.seats) == 4


@pytest.mark.long
def test_peers_go_on_with_the_same_bits_and_their_own_shards_when_their_server_is_killed(
    company: ByzantineCompany,
) -> None:
    company.serve(rounds=ENDLESS, min_available_clients=4, averaging={"patience": 3.0})
    for number in range(1, 5):
        company.give_data(number, shares=4)
    peers = [company.join() for _ in range(4)]
    last = averaged(peers[0], LONG)["round"]
    company.server.stop(signal.SIGKILL)
    for peer in peers:
        peer.expect("onward", LONG)
    for peer in peers:
        while averaged(peer, LONG, survivors=4)["round"] < last + 4:
            pass
    recorded = same_bits(peers)
    assert set(range(last + 1, last + 4)) <= set(recorded)
    state = company.state(1)
    assert not state.membership.banned
    assert len(state.membership.seats) == 4
    assert not any(one["event"] == "unable" for peer in peers for one in peer.seen)
    assert any(one["event"] == "checking" for peer in peers for one in peer.seen)


@pytest.mark.long
def test_a_liar_that_begins_after_the_server_was_killed_is_banned_by_the_others_alone(
    company: ByzantineCompany,
) -> None:
    company.serve(rounds=ENDLESS, min_available_clients=4, averaging={"patience": 3.0})
    for number in range(1, 4):
        company.give_data(number, shares=3)
    peers = [company.join() for _ in range(3)]
    company.join(liar="late-sign")
    while averaged(peers[0], LONG, survivors=4)["round"] < LATE // 4:
        pass
    company.server.stop(signal.SIGKILL)
    for peer in peers:
        assert peer.expect("onward", LONG)["round"] < LATE
        peer.expect("banned", LONG)
        averaged(peer, LONG, survivors=3)
    same_bits(peers)
    for number in range(1, 4):
        state = company.state(number)
        assert len(state.membership.banned) == 1
        assert len(state.membership.seats) == 3
        assert [one.identity for one in company.convictions(number)] == list(state.membership.banned)
