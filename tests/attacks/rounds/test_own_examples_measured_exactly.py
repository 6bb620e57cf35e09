"""A server has a client measure versions on its own held-out examples.

Their exact loss and metrics leave the client without a mask or noise.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from backend.protocols.client import participant_events
from backend.protocols.client.participant import ParticipantMachine
from backend.wire import messages
from tests.support.attacks.lying_rounds_server import WEIGHTS, new_token
from tests.support.attacks.plain_server import LOCAL, SHARED, welcome

OWN = messages.Evaluate(round=1, version=0, weights=WEIGHTS, shards=[], seconds=30.0)
PUBLIC = replace(OWN, shards=[messages.Shard(sha256="d" * 64, examples=8)])
EXAMPLES = replace(LOCAL, mechanism="examples", microbatch=1, visits=1)


def asked(answer: messages.Welcome, request: messages.Evaluate) -> list[participant_events.Effect]:
    """Returns what a client with 100 examples of its own does at `request`, after this welcome."""
    machine = ParticipantMachine()
    hello = messages.Hello(
        token=new_token(), kind="peer", backend="numpy", agent="test", aggregation=["masked", "open"],
        min_masked=0,
    )  # fmt: skip
    machine.handle(participant_events.StartParticipant(hello, 0.0))
    machine.handle(participant_events.Connected())
    machine.handle(participant_events.ParticipantFrame(answer))
    machine.handle(participant_events.BundleLoaded("numpy", 1.0, 100))
    return machine.handle(participant_events.ParticipantFrame(request))


@pytest.mark.parametrize(
    "answer",
    [welcome(LOCAL), welcome(EXAMPLES), welcome(SHARED, "masked"), welcome(None, "masked")],
    ids=["local", "examples", "distributed", "masked"],
)
def test_nothing_is_measured_on_own_examples_where_updates_are_hidden(answer: messages.Welcome) -> None:
    assert asked(answer, OWN) == []
    assert asked(answer, PUBLIC) == [participant_events.MeasureVersion(PUBLIC)]


def test_own_examples_are_measured_where_the_page_says_so() -> None:
    assert asked(welcome(None), OWN) == [participant_events.MeasureVersion(OWN)]
