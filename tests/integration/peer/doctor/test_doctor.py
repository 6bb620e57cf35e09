"""What `minga peer doctor` says of networks of every kind."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from backend.errors import LinkError, UnreachableError
from backend.peer.doctor.findings import IceFinding, NetworkFindings, Sentence, sentences
from backend.peer.doctor.probes import ask_ice, enter_and_leave, mappings, reach_itself

HOME, OUTSIDE = "192.168.1.7", "203.0.113.9"
STUN, TURN = "stun:stun.example.org:3478", "turn:turn.example.org:3478"
FOUND = NetworkFindings(
    server_seconds=0.0321,
    local_addresses=[HOME],
    ice=[IceFinding(STUN, (OUTSIDE, 40_000)), IceFinding(TURN, ("198.51.100.1", 50_000))],
    mapped=[(OUTSIDE, 40_000), (OUTSIDE, 40_000)],
    listening=None,
    address=None,
)


def about(found: NetworkFindings, what: str) -> Sentence:
    return next(one for one in sentences(found) if one.about == what)


def test_each_way_has_a_sentence_in_the_order_in_which_peers_try_them() -> None:
    told = [one.about for one in sentences(FOUND)]
    assert told == ["server", "listen", "stun", "turn", "webrtc", "relay"]
    assert "32 ms" in about(FOUND, "server").text


def test_nats_are_told_by_what_two_stun_servers_see() -> None:
    kept = about(FOUND, "webrtc")
    assert kept.is_good
    assert "keeps the port" in kept.text
    symmetric = about(replace(FOUND, mapped=[(OUTSIDE, 1), (OUTSIDE, 2)]), "webrtc")
    assert "symmetric NAT" in symmetric.text
    assert "TURN server then carries" in symmetric.text
    unknown = about(replace(FOUND, mapped=[(OUTSIDE, 1)]), "webrtc")
    assert "second STUN server" in unknown.text


def test_without_a_router_in_between_links_are_direct() -> None:
    found = replace(FOUND, local_addresses=[OUTSIDE])
    assert "No router translates" in about(found, "webrtc").text


def test_a_symmetric_nat_without_turn_is_bad_news() -> None:
    found = replace(FOUND, ice=FOUND.ice[:1], mapped=[(OUTSIDE, 1), (OUTSIDE, 2)])
    told = about(found, "webrtc")
    assert told.is_good is False
    assert "through the task's server" in told.text


def test_servers_that_do_not_answer_are_named_with_the_reason() -> None:
    found = replace(
        FOUND,
        ice=[IceFinding(STUN, None, "it does not answer"), IceFinding(TURN, None, "it does not answer")],
    )
    assert about(found, "stun").text.startswith(f"{STUN} does not work here: it does not answer.")
    assert about(found, "turn").is_good is False
    assert about(found, "webrtc").is_good is False


def test_a_server_without_stun_is_told_from_one_whose_stun_is_dead() -> None:
    assert about(replace(FOUND, ice=[]), "webrtc").is_good is None


def test_listening_is_told_as_it_went() -> None:
    assert about(FOUND, "listen").is_good is None
    assert about(replace(FOUND, listening="", address="ws://a:1"), "listen").is_good
    bad = about(replace(FOUND, listening="nothing answers there", address="ws://a:1"), "listen")
    assert bad.is_good is False
    assert "ws://a:1" in bad.text


async def test_a_machine_reaches_itself_where_it_listens_and_not_elsewhere() -> None:
    listening = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    taken = listening.sockets[0].getsockname()[1]
    async with listening:
        with pytest.raises(LinkError, match="Choose another port"):
            await reach_itself(("127.0.0.1", taken), f"ws://127.0.0.1:{taken}")
    assert await reach_itself(("127.0.0.1", taken), f"ws://127.0.0.1:{taken}") == ""
    assert await reach_itself(("127.0.0.1", taken), "ws://127.0.0.1:9") != ""


async def test_addresses_that_mean_nothing_are_no_crash() -> None:
    assert (await ask_ice("stun:nobody.invalid:3478", "", "")).address is None
    assert "cannot be understood" in (await ask_ice("http://nonsense", "", "")).problem
    assert await mappings(["stun:nobody.invalid:3478"]) == []


async def test_a_server_that_is_not_there_is_told_in_a_sentence() -> None:
    with pytest.raises(UnreachableError, match="cannot be used"):
        await enter_and_leave("ws://127.0.0.1:9/api/tasks/tiny/socket")
