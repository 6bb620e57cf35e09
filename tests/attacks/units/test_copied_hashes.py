"""Who did not do the work sends the hash of somebody who did, or another vector than it committed to."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.wire.client_id import client_id
from backend.wire.messages import Chunk, Credit
from backend.wire.unit_messages import Counted, Rejected, Release, Salt, Taken, Unit
from tests.support.attacks.units_server import STEPS
from tests.support.tasks.tiny_task import SIZE, write_units
from tests.support.web.exact_unit_client import PROGRAM, Committed, ExactUnitClient
from tests.support.web.server_process import Server, running
from tests.support.web.unit_client import UnitClient

ONES = np.ones(SIZE, np.float32)
# The same but for the last bit of one value: no tolerance would see it.
ALMOST = ONES.copy()
ALMOST[0] = np.nextafter(np.float32(1.0), np.float32(2.0))
Join = Callable[..., Awaitable[ExactUnitClient]]


@pytest.fixture
async def join(tmp_path: Path) -> AsyncIterator[Join]:
    """Connects clients of one program to a server, whose trusted peers are named when the first joins.

    Nothing that they send makes an event fail there.
    """
    log = tmp_path / "server.log"
    async with AsyncExitStack() as stack:
        servers: list[Server] = []

        async def joined(
            program: str | None = PROGRAM, token: str | None = None, lease: float = 600.0, **trust: Any
        ) -> ExactUnitClient:
            if not servers:
                trusting = {"replicas": 2, "spot_checks": 0.0} | trust
                write_units(tmp_path / "tasks" / "tiny", epochs=1, lease=lease, trust=trusting)
                server = running(tmp_path / "tasks", tmp_path / "data", log=log)
                servers.append(await asyncio.to_thread(stack.enter_context, server))
            client = await stack.enter_async_context(ExactUnitClient(servers[0].url, token=token))
            await client.ready_with(program)
            return client

        yield joined
    assert "an event failed" not in log.read_text("utf-8")


async def first_result(join: Join) -> tuple[ExactUnitClient, Unit, ExactUnitClient, Unit]:
    """Somebody's result is there, and somebody else has the same unit."""
    ann = await join()
    unit = await ann.next(Unit)
    sent = await ann.send(unit, ann.commit(unit, ONES), steps=STEPS)
    assert (sent.answer, sent.bytes) == (Taken(lease=unit.lease, waits=True), 4 * SIZE)
    bob = await join()
    return ann, unit, bob, await same_unit(bob, unit)


async def same_unit(client: UnitClient, unit: Unit) -> Unit:
    while (mine := await client.next(Unit)).unit != unit.unit:
        await client.say(Release(lease=mine.lease, cause="stopping"))
    return mine


async def test_an_equal_result_confirms_the_first_by_its_salt_alone(join: Join) -> None:
    ann, _, bob, mine = await first_result(join)
    sent = await bob.send(mine, bob.commit(mine, ONES), steps=STEPS)
    assert (sent.answer, sent.bytes) == (Taken(lease=mine.lease, waits=True), 0)
    blended = [(await one.next(Counted)).blended for one in (ann, bob)]
    assert sorted(blended) == [False, True]


async def test_one_bit_makes_another_result(join: Join) -> None:
    ann, _, bob, mine = await first_result(join)
    sent = await bob.send(mine, bob.commit(mine, ALMOST), steps=STEPS)
    # Its vector is needed now, as evidence; a third one decides.
    assert (sent.answer, sent.bytes) == (Taken(lease=mine.lease, waits=True), 4 * SIZE)
    cid = await join()
    third = await same_unit(cid, mine)
    await cid.send(third, cid.commit(third, ONES), steps=STEPS)
    assert isinstance(await ann.next(Counted), Counted)
    assert (await bob.next(Rejected)).code == "doubtful"
    assert isinstance(await cid.next(Counted), Counted)


async def test_another_ones_commitment_is_worth_nothing(join: Join) -> None:
    ann = await join()
    unit = await ann.next(Unit)
    real = ann.commit(unit, ONES)
    await ann.send(unit, real, steps=STEPS)
    bob = await join()
    mine = await same_unit(bob, unit)
    # It overheard all but the vector, and makes one up when asked for it.
    copied = Committed(np.zeros(SIZE, "<f4").tobytes(), real.salt, real.commitment)
    sent = await bob.send(mine, copied, steps=STEPS)
    assert isinstance(sent.answer, Rejected)
    assert sent.answer.code == "wrong-commitment"
    # The lease is open: honest work still counts.
    sent = await bob.send(mine, bob.commit(mine, ONES), steps=STEPS)
    assert sent.answer == Taken(lease=mine.lease, waits=True)
    assert isinstance(await bob.next(Counted), Counted)


async def test_a_result_without_a_commitment_or_with_a_wrong_salt_leaves_its_lease_open(join: Join) -> None:
    ann = await join()
    unit = await ann.next(Unit)
    real = ann.commit(unit, ONES)
    for wrong, code in (
        (replace(real, commitment=None), "no-commitment"),
        (replace(real, salt="5a" * 32), "wrong-salt"),
        (replace(real, data=ALMOST.tobytes()), "wrong-salt"),
    ):
        sent = await ann.send(unit, wrong, steps=STEPS)
        assert isinstance(sent.answer, Rejected)
        assert sent.answer.code == code
    assert isinstance((await ann.send(unit, real, steps=STEPS)).answer, Taken)


async def test_a_salt_without_its_vector_is_refused(join: Join) -> None:
    ann = await join()
    unit = await ann.next(Unit)
    real = ann.commit(unit, ONES)
    await ann.offer(unit, real, steps=STEPS)
    await ann.next(Credit)
    await ann.say(Salt(lease=unit.lease, salt=real.salt))
    assert (await ann.next(Rejected)).code == "no-vector"
    # Salts that nobody asked for are nothing.
    await ann.say(Salt(lease=unit.lease, salt=real.salt))
    await ann.say(Salt(lease=12345, salt=real.salt))
    assert isinstance((await ann.send(unit, real, steps=STEPS)).answer, Taken)


async def test_another_loss_for_the_same_vector_is_another_result(join: Join) -> None:
    ann, _, bob, mine = await first_result(join)
    sent = await bob.send(mine, bob.commit(mine, ONES), steps=STEPS, loss=0.5000001)
    assert isinstance(sent.answer, Taken)
    cid = await join()
    third = await same_unit(cid, mine)
    await cid.send(third, cid.commit(third, ONES), steps=STEPS)
    assert isinstance(await ann.next(Counted), Counted)
    assert (await bob.next(Rejected)).code == "doubtful"


async def test_whoever_differs_by_one_bit_from_a_trusted_peer_has_lied(join: Join) -> None:
    token = secrets.token_urlsafe(24)
    liar = await join(trusted=[client_id(token)])
    unit = await liar.next(Unit)
    await liar.send(unit, liar.commit(unit, ALMOST), steps=STEPS)
    peer = await join(token=token)
    mine = await same_unit(peer, unit)
    sent = await peer.send(mine, peer.commit(mine, ONES), steps=STEPS)
    assert sent.bytes == 4 * SIZE
    assert (await liar.next(Rejected)).code == "invalid"
    assert (await peer.next(Counted)).blended


async def test_a_client_without_the_program_is_compared_within_a_tolerance(join: Join) -> None:
    ann, _, bob, mine = await first_result(join)
    await bob.say(Release(lease=mine.lease, cause="stopping"))
    other = await join(None)
    third = await same_unit(other, mine)
    await other.deliver(third, ALMOST, steps=STEPS)
    assert isinstance(await other.next(Counted), Counted)
    assert isinstance(await ann.next(Counted), Counted)


async def test_an_upload_that_goes_on_after_its_result_was_taken_disturbs_nobody(join: Join) -> None:
    # Ann's lease expires, so that both have the unit before any result is there.
    ann = await join(lease=1.0)
    unit = await ann.next(Unit)
    bob = await join()
    mine = await same_unit(bob, unit)
    real = bob.commit(mine, ONES)
    await bob.offer(mine, real, steps=STEPS)
    credit = await bob.next(Credit)
    assert isinstance((await ann.send(unit, ann.commit(unit, ONES), steps=STEPS)).answer, Taken)
    sent = await bob.send(mine, real, steps=STEPS)
    assert (sent.answer, sent.bytes) == (Taken(lease=mine.lease, waits=True), 0)
    data = memoryview(real.data)[: credit.until]
    await bob.say(Chunk(round=mine.lease, offset=0, data=data))
    assert isinstance(await ann.next(Counted), Counted)
    assert isinstance(await bob.next(Counted), Counted)
    # The server goes on.
    last = await bob.next(Unit)
    assert isinstance((await bob.send(last, bob.commit(last, ONES), steps=STEPS)).answer, Taken)
