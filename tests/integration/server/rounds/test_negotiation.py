"""Clients and tasks agree on a way to add up updates, or are told why they cannot."""

from __future__ import annotations

import pytest
from websockets.exceptions import ConnectionClosed

from backend.wire.messages import Closing
from tests.integration.server.conftest import Serve
from tests.support.web.rounds_client import Client


async def test_a_client_that_can_do_both_is_told_which_it_is(serve: Serve) -> None:
    async with Client(serve().url, aggregation=["masked", "open"], min_masked=10) as client:
        assert client.welcome.aggregation == "open"


async def test_a_client_that_only_masks_is_not_let_into_an_open_task(serve: Serve) -> None:
    client = Client(serve().url, aggregation=["masked"])
    with pytest.raises(ConnectionClosed) as closed:
        await client.__aenter__()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4006
    (closing,) = client.heard
    assert isinstance(closing, Closing)
    assert closing.code == "unfit"
    assert "takes unmasked updates" in closing.reason
