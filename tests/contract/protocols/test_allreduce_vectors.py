from __future__ import annotations

import msgspec
import pytest

from backend.protocols.mesh.allreduce.member import AllReduce
from tests.contract.vectors import HERE
from tests.contract.vectors.mesh.make_allreduce import FILES, Conversation

CONVERSATIONS = [
    told
    for file in FILES
    for told in msgspec.json.decode((HERE / file).read_bytes(), type=list[Conversation])
]


@pytest.mark.parametrize(
    "told", CONVERSATIONS, ids=lambda told: f"{told.order.precision}: {told.name}, place {told.place}"
)
def test_the_machine_says_what_it_said_before(told: Conversation) -> None:
    machine = AllReduce(told.order, told.place, 0.0)
    for step in told.steps:
        assert machine.happened(step.event, step.now) == step.effects
        assert machine.timer() == step.timer
