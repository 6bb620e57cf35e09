"""Attackers send what the server refuses, so that the accepted updates are too few for the task's rule.

A refused update is one of the false ones that the rule bears: it is made for as many fewer, and the round
makes a version. Nobody lowers the number further than to the truth: a participant counts once, an outsider
never, and all together count as `attackers` at most.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.wire.messages import Abandoned, Accepted, Leave, Refused, Train, Version
from tests.support.attacks.robust_rounds import cohort, robust_server, weights_of
from tests.support.tasks.tiny_task import SIZE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server

HONEST = np.random.default_rng(7).normal(0.1, 0.02, (7, SIZE)).astype(np.float32)
NOT_FINITE = np.full(SIZE, np.nan, np.float32)
TOO_LONG = np.full(SIZE, 20.0, np.float32)  # Its norm is 63; the task takes 50.
# Within the bound, opposite to what the others learned.
LIE = np.full(SIZE, -15.0, np.float32)

Member = tuple[Client, Train]


async def send_all(members: list[Member], updates: NDArray[np.float32]) -> None:
    for (client, plan), update in zip(members, updates, strict=True):
        assert isinstance(await client.deliver(plan, update), Accepted)


async def refuse(member: Member, update: NDArray[np.float32]) -> str:
    """Sends an update that is refused; returns the code."""
    client, plan = member
    refused = await client.deliver(plan, update)
    assert isinstance(refused, Refused)
    return refused.code


async def step_of(server: Server, members: list[Member]) -> NDArray[np.float64]:
    """Returns by how much the round moved the model, once its version is there."""
    version = await members[-1][0].next(Version, Abandoned)
    assert isinstance(version, Version), version
    return weights_of(server, version.weights) - weights_of(server, members[0][1].weights)


@pytest.mark.parametrize(
    "robust",
    [
        'rule = "krum"\nattackers = 3',
        'rule = "trimmed-mean"\nattackers = 3\nbefore = ["nnm"]',
        'rule = "flame"\nattackers = 3',
    ],
    ids=lambda text: text.replace("\n", ", "),
)
async def test_as_many_refused_updates_as_the_rule_bears_stop_no_round(robust: str, tmp_path: Path) -> None:
    with robust_server(tmp_path, 10, robust, quorum=9) as server:
        async with cohort(server, 10) as members:
            codes = [await refuse(members[liar], NOT_FINITE) for liar in range(2)]
            codes.append(await refuse(members[2], TOO_LONG))
            await send_all(members[3:], HONEST)
            step = await step_of(server, members)
    assert codes == ["not-finite", "not-finite", "norm-too-large"]
    assert (
        np.linalg.norm(step - HONEST.mean(axis=0))
        < np.linalg.norm(HONEST - HONEST.mean(axis=0), axis=1).max()
    )


async def test_a_participant_that_is_refused_often_is_one_attacker(tmp_path: Path) -> None:
    """Of five, one is refused three times and one lies: the rule still bears the lie."""
    with robust_server(tmp_path, 5, 'rule = "median"\nattackers = 2') as server:
        async with cohort(server, 5) as members:
            codes = [await refuse(members[0], NOT_FINITE) for _ in range(3)]
            await send_all(members[1:], np.stack([LIE, *HONEST[:3]]))
            step = await step_of(server, members)
    assert codes == ["not-finite", "duplicate", "duplicate"]
    assert np.abs(step - HONEST[:3].mean(axis=0)).max() < 0.1


async def test_an_accepted_participant_that_sends_a_false_update_later_is_no_attacker(tmp_path: Path) -> None:
    """Its update is in the aggregate: a rule for fewer attackers would follow the lie."""
    with robust_server(tmp_path, 5, 'rule = "trimmed-mean"\nattackers = 1', quorum=4) as server:
        async with cohort(server, 5) as members:
            await send_all(members[:1], LIE[None])
            assert await refuse(members[0], NOT_FINITE) == "duplicate"
            await send_all(members[1:], HONEST[:4])
            step = await step_of(server, members)
    assert np.abs(step - HONEST[:4].mean(axis=0)).max() < 0.1


async def test_an_outsider_lowers_nothing(tmp_path: Path) -> None:
    robust = 'rule = "trimmed-mean"\nattackers = 2'
    with robust_server(tmp_path, 5, robust) as server:
        async with cohort(server, 5) as members, Client(server.url) as outsider:
            await outsider.ready()
            assert await refuse((outsider, members[0][1]), NOT_FINITE) == "not-selected"
            await send_all(members[:4], HONEST[:4])
            await members[4][0].say(Leave())
            abandoned = await members[0][0].next(Abandoned)
    assert abandoned.reason == "4 of at least 5 updates arrived in time."


async def test_silent_participants_are_not_refused_ones(tmp_path: Path) -> None:
    with robust_server(tmp_path, 5, 'rule = "trimmed-mean"\nattackers = 2') as server:
        async with cohort(server, 5) as members:
            await refuse(members[0], NOT_FINITE)
            await members[1][0].say(Leave())
            await send_all(members[2:], HONEST[:3])
            abandoned = await members[2][0].next(Abandoned)
    assert abandoned.reason == "3 of at least 4 updates arrived in time."


async def test_more_refused_updates_than_the_rule_bears_lower_no_more_than_that(tmp_path: Path) -> None:
    with robust_server(tmp_path, 7, 'rule = "trimmed-mean"\nattackers = 1', quorum=6) as server:
        async with cohort(server, 7) as members:
            for member in members[:3]:
                await refuse(member, NOT_FINITE)
            await send_all(members[3:], HONEST[:4])
            abandoned = await members[3][0].next(Abandoned)
    assert abandoned.reason == "4 of at least 5 updates arrived in time."


async def test_refused_updates_lower_no_quorum_of_the_mean(tmp_path: Path) -> None:
    with robust_server(tmp_path, 4) as server:
        async with cohort(server, 4) as members:
            await refuse(members[0], NOT_FINITE)
            await send_all(members[1:], HONEST[:3])
            abandoned = await members[1][0].next(Abandoned)
    assert abandoned.reason == "3 of at least 4 updates arrived in time."
