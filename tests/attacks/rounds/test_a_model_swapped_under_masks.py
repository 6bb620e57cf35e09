"""A server has clients join with one model, and gives them another one when they come back.

What a sum or noise says of an update depends on the graph that made it, which a client does not judge.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from backend.wire import messages
from tests.support.attacks.lying_rounds_server import plan_of
from tests.support.attacks.plain_server import LOCAL, PlainServer, left, welcome

EXAMPLES = replace(LOCAL, mechanism="examples", microbatch=1, visits=1)


@pytest.mark.parametrize(
    "first",
    [welcome(None, "masked"), welcome(LOCAL), welcome(EXAMPLES)],
    ids=["masked", "local", "examples"],
)
async def test_a_client_leaves_where_the_model_is_another_one(
    tmp_path: Path, first: messages.Welcome
) -> None:
    server = PlainServer([first, replace(first, bundle="e" * 64)], [plan_of(1, 0)])
    assert "has another model than when this client joined" in await left(server, tmp_path)
    assert not any(isinstance(frame, messages.Keys | messages.Offer) for frame in server.heard)
