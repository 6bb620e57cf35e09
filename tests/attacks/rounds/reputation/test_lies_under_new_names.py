"""A liar takes a new identity whenever its updates no longer count (whitewashing).

New names cost nothing, so that without memory each has three bad rounds that count. From one household they
come to work for nothing; a neighbour who begins meanwhile waits a bounded time.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from backend.numerics.reputation.suspicion import EvidenceKind, SuspicionRules
from backend.protocols.rounds.reputation_book import ReputationBook, SuspectKey
from backend.wire.messages import Accepted, Leave
from tests.support.attacks.judged_rounds import honest, judging_server, lie, play
from tests.support.web.rounds_client import Client

RULES = SuspicionRules(10.0, 10)
BAD: dict[EvidenceKind, float] = {"direction": 1.0}
GOOD: dict[EvidenceKind, float] = {}
ROUNDS, CLIENTS = 500, 6


def counted_lies(household: str, lies_at_once: bool) -> tuple[int, ReputationBook]:
    """Plays a liar with a new name after each quarantine; returns its lies that counted."""
    book, counted, names = ReputationBook(RULES, (), lambda _client: False), 0, 0
    book.join("0", SuspectKey("0", household))
    for number in range(ROUNDS):
        name = str(names)
        suspicion = book.suspicion(name)
        lies = lies_at_once or suspicion.counts
        counted += lies and suspicion.counts
        book.round_ended(number, {name: BAD if lies else GOOD}, [name] if suspicion.counts else [])
        if book.suspicion(name).quarantined:
            names += 1
            book.join(str(names), SuspectKey(str(names), household))
    return counted, book


def test_names_from_ever_new_networks_have_three_lies_each() -> None:
    counted, _ = counted_lies("", lies_at_once=True)
    assert counted == ROUNDS


def test_names_that_lie_at_once_have_none_that_counts_after_the_first() -> None:
    counted, _ = counted_lies("house", lies_at_once=True)
    assert counted == 3


def test_names_that_behave_until_they_count_work_five_rounds_for_each_lie() -> None:
    counted, _ = counted_lies("house", lies_at_once=False)
    assert counted <= ROUNDS / 5


@pytest.mark.parametrize("lies_at_once", [True, False])
def test_a_neighbour_waits_ten_rounds_at_most_and_once(lies_at_once: bool) -> None:
    _, book = counted_lies("house", lies_at_once)
    book.join("neighbour", SuspectKey("neighbour", "house"))
    waited = 0
    while not book.suspicion("neighbour").counts:
        book.round_ended(ROUNDS + waited, {"neighbour": GOOD}, [])
        waited += 1
    assert 1 <= waited <= RULES.quarantine
    for number in range(30):
        book.round_ended(2 * ROUNDS + number, {"neighbour": GOOD}, ["neighbour"])
        assert book.suspicion("neighbour").counts


def test_a_name_of_another_household_does_not_wait() -> None:
    _, book = counted_lies("house", lies_at_once=True)
    book.join("elsewhere", SuspectKey("elsewhere", "other"))
    assert book.suspicion("elsewhere").weight == 1.0


def test_a_restart_makes_no_new_start() -> None:
    _, before = counted_lies("house", lies_at_once=True)
    book = ReputationBook(RULES, before.suspects, lambda _client: False)
    book.join("new", SuspectKey("new", "house"))
    assert not book.suspicion("new").counts
    assert book.suspicion("0").quarantined


async def test_a_server_lets_no_new_name_of_the_household_count_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A proxy that the operator named says where clients come from.
    monkeypatch.setenv("MINGA_TRUSTED_PROXIES", "127.0.0.1")
    with judging_server(tmp_path, CLIENTS) as server:

        def client(token: str, address: str) -> Client:
            return Client(server.url, token=token * 24, headers={"X-Forwarded-For": address})

        async with AsyncExitStack() as stack:
            others = [
                await stack.enter_async_context(client(f"{number}", f"198.51.{number}.7"))
                for number in range(1, CLIENTS)
            ]
            liar = await stack.enter_async_context(client("a", "203.0.113.7"))
            for one in (liar, *others):
                await one.ready()
            for number in range(1, 3):
                await play([liar, *others], {0: lie(0, number)})
            # It leaves before the others end the round, so that the next one waits for a sixth client.
            await liar.deliver(await liar.selected(), lie(0, 3))
            await liar.say(Leave())
            for number, other in enumerate(others, 1):
                await other.deliver(await other.selected(), honest(number, 3))
            again = await stack.enter_async_context(client("b", "203.0.113.99"))
            await again.ready()
            (told, *_), version = await play([again, *others], {0: lie(0, 4)})
            assert isinstance(told, Accepted)
            assert not told.counted
            assert "updates from your network were found false" in told.reason
            assert version.accepted == CLIENTS - 1
