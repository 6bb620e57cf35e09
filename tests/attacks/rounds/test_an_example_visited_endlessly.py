"""A server promises noise on each step's gradients, and then has each example visited as often as it likes.

Each visit gets noise of its own, so that the sum of many says what a single one would not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from backend.protocols.client import participant_events
from backend.protocols.client.participant import ParticipantMachine
from backend.wire import messages
from tests.support.attacks.lying_rounds_server import new_token, plan_of
from tests.support.attacks.plain_server import LOCAL, NOISY, PlainServer, left, welcome

TERMS = replace(LOCAL, mechanism="examples", microbatch=1, visits=2)
STEPS = replace(NOISY, clip=0.0, noise=0.0, example_clip=4.0, example_noise=2.0, microbatch=1)
LEFT = "protects updates less than it promised when this client joined"


def plan(**walk: Any) -> messages.Train:
    own = replace(plan_of(1, 0), masking=None, privacy=STEPS, shards=[], batch_size=8)
    return replace(own, **walk)


async def test_no_update_is_made_of_more_visits_than_were_promised(tmp_path: Path) -> None:
    server = PlainServer([welcome(TERMS)], [plan(epochs=1_000_000)])
    assert LEFT in await left(server, tmp_path)
    assert server.updates == []


async def test_a_broken_connection_does_not_add_visits(tmp_path: Path) -> None:
    server = PlainServer([welcome(TERMS), welcome(replace(TERMS, visits=3))], [])
    assert LEFT in await left(server, tmp_path)


async def test_terms_without_visits_promise_nothing(tmp_path: Path) -> None:
    server = PlainServer([welcome(replace(TERMS, visits=0))], [])
    assert "in terms that protect nothing" in await left(server, tmp_path)


def trains(order: messages.Train, examples: int) -> bool:
    """Whether a client with so many examples of its own trains by this plan."""
    machine = ParticipantMachine()
    hello = messages.Hello(
        token=new_token(), kind="peer", backend="numpy", agent="test", aggregation=["open"], min_masked=0
    )
    machine.handle(participant_events.StartParticipant(hello, 0.0))
    machine.handle(participant_events.Connected())
    machine.handle(participant_events.ParticipantFrame(welcome(TERMS)))
    machine.handle(participant_events.BundleLoaded("numpy", 1.0, examples))
    return machine.handle(participant_events.ParticipantFrame(order)) == [
        participant_events.StartTraining(order)
    ]


@pytest.mark.parametrize(
    ("walk", "examples", "kept"),
    [
        ({"epochs": 2}, 100, True),
        ({"epochs": 3}, 100, False),
        ({"epochs": 0, "steps": 26}, 100, True),
        ({"epochs": 0, "steps": 27}, 100, False),
        ({"epochs": 0, "steps": 26}, 99, True),
        ({"epochs": 0, "steps": 26}, 96, False),
        ({"epochs": 0, "steps": 26, "batch_size": 9}, 100, False),
        ({"epochs": 1, "batch_size": 0}, 100, False),
        ({"epochs": 1, "steps": 1_000_000}, 100, False),
        ({"epochs": 1, "shards": plan_of(1, 0).shards}, 100, False),
    ],
)
def test_steps_are_counted_as_visits_to_the_clients_own_examples(
    walk: dict[str, Any], examples: int, kept: bool
) -> None:
    assert trains(plan(**walk), examples) is kept
