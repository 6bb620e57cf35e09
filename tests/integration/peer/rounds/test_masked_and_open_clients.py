"""Masked and open clients in one task, and clients who do not do their part of a masked round."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.crypto.client_keys import identity_key
from backend.numerics.masking.bit_packing import masked_words
from backend.numerics.masking.encoding import Encoding, error
from backend.peer.session.trust_store import TrustStore
from backend.wire.client_id import client_id
from backend.wire.messages import Decline, Refused, Version
from tests.support.masking.known_update_peers import address_of, known_update
from tests.support.masking.masked_task import (
    CLIENTS,
    CLIP,
    PARAMETERS,
    first_version,
    serving,
    tokens,
    train,
)
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server


async def test_masked_and_open_clients_of_a_task_take_turns(tmp_path: Path) -> None:
    masked, unmasked = tokens(), tokens()
    both = {"security.aggregation": '["masked", "open"]'}
    with serving(tmp_path, rounds=4, settings=both) as server:
        clients = {name: {"aggregation": "masked"} for name in masked}
        clients |= {name: {"aggregation": "open"} for name in unmasked}
        await train(server.url, clients)
        rows = server.get("/api/tasks/tiny/contributions")["contributions"]
        rounds = server.get("/api/tasks/tiny/rounds")["rounds"]
    assert {one["accepted"] for one in rounds} == {CLIENTS}
    assert sorted(row["accepted"] for row in rows) == [2] * 2 * CLIENTS
    # What each one trained on is known of those who said it.
    assert sum(row["examples"] > 0 for row in rows) == CLIENTS


async def idler(server: Server, offers: bool) -> str:
    """Is in the round but exchanges no keys; what it is refused with."""
    async with Client(server.url, aggregation=["masked"]) as client:
        await client.ready()
        plan = await client.selected()
        if offers:
            said = {"examples": 0, "steps": 0, "loss": 0.0, "sums": []}
            await client.offer(plan, masked_words(PARAMETERS, 1), **said)
        return (await client.next(Refused)).code


async def test_who_sends_no_keys_is_told_so_and_the_others_go_on(tmp_path: Path) -> None:
    with serving(tmp_path, CLIENTS + 1) as server:
        others = train(server.url, {name: {} for name in tokens()})
        code, _ = await asyncio.gather(idler(server, offers=False), others)
        (told,) = server.get("/api/tasks/tiny/rounds")["rounds"]
    assert code == "not-masked"
    assert (told["accepted"], told["refusals"]) == (CLIENTS, {"not-masked": 1})


async def test_an_update_without_shares_is_not_taken(tmp_path: Path) -> None:
    with serving(tmp_path, CLIENTS + 1) as server:
        others = train(server.url, {name: {} for name in tokens()})
        code, _ = await asyncio.gather(idler(server, offers=True), others)
        (told,) = server.get("/api/tasks/tiny/rounds")["rounds"]
    assert code == "not-masked"
    assert told["accepted"] == CLIENTS


# Longer than anybody here waits: a round that ends did not wait for its deadline.
LONG = {"coordination.deadline": "3600"}


async def test_an_update_that_is_no_number_is_kept_back_by_its_own_client_and_nobody_waits_for_it(
    tmp_path: Path,
) -> None:
    """In the sum nobody could find it."""
    diverged, *others = tokens(CLIENTS + 1)
    with serving(tmp_path, CLIENTS + 1, settings=LONG) as server:
        await train(server.url, {name: {} for name in others} | {diverged: {"norm": math.nan}})
        (told,) = server.get("/api/tasks/tiny/rounds")["rounds"]
        found = first_version(server)
    assert (told["outcome"], told["accepted"]) == ("version", CLIENTS)
    assert told["refusals"] == {"not-masked": 1}
    assert np.isfinite(found).all()


async def test_who_declines_again_late_or_as_a_stranger_changes_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, CLIENTS + 1, settings=LONG) as server:
        others = asyncio.create_task(train(server.url, {name: {} for name in tokens()}))
        async with (
            Client(server.url, aggregation=["masked"]) as stranger,
            Client(server.url, aggregation=["masked"]) as client,
        ):
            await client.ready()
            plan = await client.selected()
            await stranger.say(Decline(round=plan.round, spent=False))
            await client.say(Decline(round=plan.round + 1, spent=False))
            for _ in range(2):
                await client.say(Decline(round=plan.round, spent=False))
            refused = await client.next(Refused)
            await client.next(Version)
            await client.say(Decline(round=plan.round, spent=False))
            await others
            # Both are still heard.
            for one in (client, stranger):
                await one.offer(plan, 1)
                assert (await one.next(Refused)).code == "stale-round"
        (told,) = server.get("/api/tasks/tiny/rounds")["rounds"]
    assert (refused.code, refused.reason) == (
        "not-masked",
        "You left masked round 1. Wait for the next one.",
    )
    assert next(one for one in client.heard if isinstance(one, Refused)) is refused
    assert sum(isinstance(one, Refused) for one in client.heard) == 2
    assert (told["accepted"], told["refusals"]) == (CLIENTS, {"not-masked": 1})


async def test_a_client_whose_identity_changed_is_not_trusted_where_the_server_may_lie(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wary, changed, *others = tokens(CLIENTS + 1)
    with serving(tmp_path, CLIENTS + 1, server='"active"') as server:
        known = TrustStore(tmp_path / "met")
        known.enter(address_of(server.url))
        known.remember({client_id(changed): "a" * 64})
        traits = {wary: {"met": tmp_path / "met"}} | {name: {} for name in (changed, *others)}
        await train(server.url, traits)
        (told,) = server.get("/api/tasks/tiny/rounds")["rounds"]
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (unsafe,) = [news for news in said if news["event"] == "unsafe"]
    assert "A client of the roster changed its identity" in unsafe["message"]
    # It was not waited for until its shares were late.
    (refused,) = [news for news in said if news["event"] == "refused"]
    assert "You left masked round 1" in refused["message"]
    assert (told["outcome"], told["accepted"]) == ("version", CLIENTS)


async def test_in_a_large_round_each_client_shares_masks_with_some_neighbours_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond 64 members a secret has few holders, of whom not all have to stay."""
    monkeypatch.setenv("MINGA_MAX_CONNECTIONS_PER_ADDRESS", "1000")
    monkeypatch.setenv("MINGA_JOINS_PER_MINUTE", "1000")
    many = 70
    names = tokens(many)
    with serving(tmp_path, many) as server:
        await train(server.url, {name: {} for name in names})
        (told,) = server.get("/api/tasks/tiny/rounds")["rounds"]
        found = first_version(server)
    mean = np.mean([known_update(name, 1, PARAMETERS, 1.0) for name in names], axis=0, dtype=np.float64)
    assert told["accepted"] == many
    assert (
        np.abs(found - mean).max() <= error(Encoding(many, PARAMETERS, 1, 32, CLIP), many, many).worst + 1e-6
    )


async def test_those_who_were_met_are_remembered(tmp_path: Path) -> None:
    names = tokens()
    identities = {name: secrets.token_bytes(32) for name in names}
    traits: dict[str, dict[str, Any]] = {name: {"identity": identities[name]} for name in names}
    traits[names[0]]["met"] = tmp_path / "met"
    with serving(tmp_path, server='"active"') as server:
        await train(server.url, traits)
        address = address_of(server.url)
    known = TrustStore(tmp_path / "met")
    known.enter(address)
    for name in names:
        assert not known.is_untrusted(client_id(name), identity_key(identities[name]).hex())
        assert known.is_untrusted(client_id(name), "a" * 64)
