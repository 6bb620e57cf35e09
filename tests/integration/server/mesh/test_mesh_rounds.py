"""Rounds of a mesh at its server, over real sockets: who averages with whom, and what is recorded of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest

from backend.wire.mesh_messages import Certificate, Certified, Deposit, Group, Links, Measure, Signed
from backend.wire.messages import Abandoned, Ready, Train, Version
from tests.integration.server.conftest import Serve
from tests.support.attacks.mesh_peers import certificate_of, showing
from tests.support.tasks.tiny_task import EXAMPLES, SIZE, bring_own, write_mesh
from tests.support.timeouts import PATIENCE
from tests.support.web.mesh_client import MeshPeer, address_of
from tests.support.web.server_process import Server, running

PATIENT = {"averaging": "{ patience = 0.5 }", "min_available_clients": 3, "deadline": 60}


def vector(value: float) -> bytes:
    """Weights that are all the same."""
    return np.full(SIZE, value, "<f4").tobytes()


def at(server: Server, path: str) -> bytes:
    """What a server answers."""
    with urlopen(server.url + path, timeout=PATIENCE) as answer:
        data: bytes = answer.read()
    return data


@asynccontextmanager
async def peers(server: Server, count: int, **changes: Any) -> AsyncIterator[list[MeshPeer]]:
    """So many peers that are ready."""
    async with AsyncExitStack() as stack:
        found = [await stack.enter_async_context(MeshPeer(server.url, **changes)) for _ in range(count)]
        for one in found:
            await one.ready()
        yield found


async def grouped(those: Sequence[MeshPeer]) -> dict[str, tuple[Train, Group]]:
    """All are told to train, do so, and are told with whom they average."""
    plans = await asyncio.gather(*(one.next(Train) for one in those))
    for one, plan in zip(those, plans, strict=True):
        await one.trained(plan)
    groups = await asyncio.gather(*(one.next(Group) for one in those))
    return {one.id: (plan, group) for one, plan, group in zip(those, plans, groups, strict=True)}


async def brought(those: Sequence[MeshPeer], weights: bytes) -> Version:
    """Whoever is asked for the weights brings them; the version that they make."""
    asked = [asyncio.create_task(one.next(Deposit)) for one in those]
    done, rest = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    deposits = [task.result() for task in done]
    assert [one.weights for one in deposits] == [address_of(weights)]
    assert await those[0].put(weights) == 204
    versions = await asyncio.gather(*(one.next(Version) for one in those))
    assert versions[0] == versions[-1]
    return versions[0]


async def test_what_a_group_ended_with_is_recorded_and_trained_from(mesh: Serve) -> None:
    server = mesh(**PATIENT)
    async with peers(server, 3) as those:
        orders = await grouped(those)
        _, group = orders[those[0].id]
        assert sorted(group.members) == sorted(one.id for one in those)
        assert (group.exchange, group.bounds, group.subject) == ("full", [0, SIZE], "changes")
        assert (group.least, group.patience, group.seconds) == (2, 0.5, 60.0)
        assert group.most_weight == 2 * EXAMPLES
        assert len({shard.sha256 for one, _ in orders.values() for shard in one.shards}) == 6
        for one in those:
            await one.averaged(group, vector(1.0), range(3))
        version = await brought(those, vector(1.0))
        again = await asyncio.gather(*(one.next(Train) for one in those))
    assert (version.version, version.round, version.accepted) == (1, 1, 3)
    assert (version.loss, version.metrics, version.examples) == (0.5, {"accuracy": 0.25}, 30)
    assert {one.weights for one in again} == {address_of(vector(1.0))}
    assert {one.round for one in again} == {2}
    assert at(server, f"/blobs/{version.weights}") == vector(1.0)
    found = at(server, "/metrics").decode()
    assert 'minga_averaging_seconds_sum{task="tiny"} 0.5' in found
    assert f'minga_received_bytes_total{{task="tiny"}} {4.0 * SIZE}' in found
    [recorded] = server.get("/api/tasks/tiny/rounds")["rounds"]
    assert (recorded["cohort"], recorded["accepted"], recorded["outcome"]) == (3, 3, "version")
    given = server.get("/api/tasks/tiny/contributions")["contributions"]
    assert [one["accepted"] for one in given] == [1, 1, 1]


async def test_a_member_that_is_killed_costs_its_group_nothing_but_its_part(mesh: Serve) -> None:
    server = mesh(**PATIENT)
    async with peers(server, 3) as those:
        _, group = (await grouped(those))[those[0].id]
        lost = those[1]
        await lost.socket.close()
        left = [one for one in those if one is not lost]
        survivors = sorted(group.members.index(one.id) for one in left)
        for one in left:
            await one.averaged(group, vector(2.0), survivors, fraction=0.75)
        version = await brought(left, vector(2.0))
    assert version.accepted == 2


async def test_a_report_that_its_peer_did_not_sign_counts_for_nothing(mesh: Serve) -> None:
    server = mesh(**PATIENT)
    async with peers(server, 3) as those:
        _, group = (await grouped(those))[those[0].id]
        for one in those:
            await one.averaged(group, vector(1.0), range(3), signature=bytes(64))
        told = await those[0].next(Abandoned)
    assert "not signed" in told.reason


async def test_a_peer_that_says_what_cannot_be_is_in_no_group(mesh: Serve) -> None:
    server = mesh(**PATIENT)
    async with peers(server, 3) as those:
        plans = await asyncio.gather(*(one.next(Train) for one in those))
        await those[0].trained(plans[0], examples=10**9)
        for one, plan in zip(those[1:], plans[1:], strict=True):
            await one.trained(plan)
        group = await those[1].next(Group)
    assert sorted(group.members) == sorted(one.id for one in those[1:])


async def test_nobody_weighs_more_than_the_examples_that_a_task_takes_from_one(tmp_path: Path) -> None:
    folder = write_mesh(tmp_path / "tasks" / "tiny", **PATIENT)
    bring_own(folder, minimum=1, maximum=50, holdout=0.0)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with peers(server, 3) as those:
            for one in those:
                await one.say(Ready(backend="numpy", step_ms=1.0, examples=10**9))
            plans = await asyncio.gather(*(one.next(Train) for one in those))
            for one, plan, examples in zip(those, plans, (51, 50, 20), strict=True):
                await one.trained(plan, examples=examples)
            group = await those[1].next(Group)
    assert sorted(group.members) == sorted(one.id for one in those[1:])
    assert group.most_weight == 50.0


async def test_members_of_several_groups_go_on_from_weights_of_their_own(mesh: Serve) -> None:
    server = mesh(averaging='{ groups = "random", group_size = 2, patience = 0.5 }', min_available_clients=4)
    async with peers(server, 4) as those:
        orders = await grouped(those)
        numbers = {group.group for _, group in orders.values()}
        assert len(numbers) == 2
        results = {number: vector(value) for value, number in enumerate(sorted(numbers))}
        for one in those:
            group = orders[one.id][1]
            await one.averaged(group, results[group.group], range(2))
        asked = await asyncio.wait(
            [asyncio.create_task(one.next(Deposit)) for one in those], return_when=asyncio.FIRST_COMPLETED
        )
        for task in asked[1]:
            task.cancel()
        wanted = asked[0].pop().result().weights
        assert await those[0].put(next(one for one in results.values() if address_of(one) == wanted)) == 204
        for one in those:
            plan = await one.next(Train)
            assert plan.weights == address_of(results[orders[one.id][1].group])
            await one.trained(plan)
        second = {one.id: await one.next(Group) for one in those}
    bases = {one.id: orders[one.id][1].group for one in those}
    for group in second.values():
        same = len({bases[member] for member in group.members}) == 1
        assert group.subject == ("changes" if same else "weights")


async def test_peers_bring_the_mesh_back_to_a_server_that_saw_no_end_of_their_round(tmp_path: Path) -> None:
    write_mesh(tmp_path / "tasks" / "tiny", **PATIENT)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with peers(server, 3) as those:
            _, group = (await grouped(those))[those[0].id]
            old = those
            server.stop()
    certificate = certificate_of(old, old, vector(3.0), 1, group.group)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with AsyncExitStack() as stack:
            those = []
            for one in old:
                peer = MeshPeer(server.url, token=one.token, private=one.private, **showing(certificate))
                those.append(await stack.enter_async_context(peer))
            for one in those:
                await one.ready()
            version = await brought(those, vector(3.0))
            plans = await asyncio.gather(*(one.next(Train) for one in those))
    assert (version.version, version.round, version.weights) == (1, 1, certificate.weights)
    assert {one.weights for one in plans} == {certificate.weights}
    assert {one.round for one in plans} == {2}


async def test_a_group_that_ends_after_its_server_came_back_is_gone_on_from(tmp_path: Path) -> None:
    write_mesh(tmp_path / "tasks" / "tiny", **PATIENT)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with peers(server, 3) as old:
            _, group = (await grouped(old))[old[0].id]
            server.stop()
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with AsyncExitStack() as stack:
            those = [
                await stack.enter_async_context(MeshPeer(server.url, token=one.token, private=one.private))
                for one in old
            ]
            certificate = certificate_of(old, old[:2], vector(3.0), 1, group.group)
            for one in those:
                await one.averaged(group, vector(3.0), range(3))
                await one.say(Certified(certificate=certificate))
                await one.ready()
            await brought(those, vector(3.0))
            orders = await grouped(those)
    assert {plan.weights for plan, _ in orders.values()} == {address_of(vector(3.0))}
    assert {plan.round for plan, _ in orders.values()} == {2}
    assert group.group not in {one.group for _, one in orders.values()}


async def test_a_forged_certificate_leads_nobody_away(mesh: Serve) -> None:
    server = mesh(**PATIENT | {"min_available_clients": 2})
    async with MeshPeer(server.url) as ann:
        lie = Certificate(
            bundle=ann.entered.bundle,
            run=ann.entered.run,
            round=1,
            group=0,
            weights="0" * 64,
            survivors=[ann.id],
            signatures=[Signed(client=ann.id, identity=bytes(32), signature=bytes(64))],
        )
        changes: dict[str, Any] = {"round": 1, "holds": lie.weights, "certificate": lie}
        async with MeshPeer(server.url, **changes) as bob:
            await ann.ready()
            await bob.ready()
            plan = await ann.next(Train)
    assert plan.weights == ann.entered.weights


async def test_weights_are_taken_only_where_they_are_wanted_and_right(mesh: Serve) -> None:
    server = mesh(**PATIENT)
    async with peers(server, 3) as those:
        _, group = (await grouped(those))[those[0].id]
        assert await those[0].put(vector(1.0)) == 409
        for one in those:
            await one.averaged(group, vector(1.0), range(3))
        asked = [asyncio.create_task(one.next(Deposit)) for one in those]
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        for task in asked:
            task.cancel()
        address = address_of(vector(1.0))
        assert await those[0].put(vector(2.0), address) == 400
        assert await those[0].put(vector(1.0)[:-4], address) == 400
        assert await those[0].put(vector(1.0) * 2, address) == 413
        assert await those[0].put(vector(1.0)) == 204
        assert await those[0].put(vector(1.0)) == 409


async def test_weights_that_are_no_numbers_are_not_recorded(mesh: Serve) -> None:
    server = mesh(**PATIENT)
    async with peers(server, 3) as those:
        _, group = (await grouped(those))[those[0].id]
        for one in those:
            await one.averaged(group, vector(float("nan")), range(3))
        await asyncio.wait(
            [asyncio.create_task(one.next(Deposit)) for one in those], return_when=asyncio.FIRST_COMPLETED
        )
        assert await those[0].put(vector(float("nan"))) == 422
    assert server.get("/api/tasks/tiny")["version"] == 0


async def test_a_mesh_whose_weights_nobody_brings_goes_on_from_them_all_the_same(mesh: Serve) -> None:
    server = mesh(**PATIENT | {"deadline": 1})
    async with peers(server, 3) as those:
        _, group = (await grouped(those))[those[0].id]
        for one in those:
            await one.averaged(group, vector(1.0), range(3))
        told = await those[0].next(Abandoned)
        plan = await those[0].next(Train)
    assert "none uploaded" in told.reason
    assert plan.weights == address_of(vector(1.0))


async def test_the_mesh_is_told_as_it_is(mesh: Serve) -> None:
    server = mesh(**PATIENT)
    async with peers(server, 3) as those:
        _, group = (await grouped(those))[those[0].id]
        ann, bob = sorted(those[:2], key=lambda one: one.id)
        await ann.say(Links(links=[Measure(client=bob.id, way="webrtc", seconds=0.25, rate=0.0)]))
        await bob.say(Links(links=[Measure(client=ann.id, way="webrtc", seconds=0.5, rate=2e6)]))
        await ann.averaged(group, vector(1.0), range(3))
        found: dict[str, Any] = {}
        async with asyncio.timeout(PATIENCE):
            while not (found.get("groups") and found["groups"][0]["weights"] and found["links"]):
                found = await asyncio.to_thread(server.get, "/api/tasks/tiny/mesh")
    assert {one["client"]: one["status"] for one in found["peers"]} == {one.id: "reported" for one in those}
    assert found["links"] == [{"ends": [ann.id, bob.id], "way": "webrtc", "seconds": 0.5, "rate": 2e6}]
    [told] = found["groups"]
    assert (told["members"], told["weights"]) == (group.members, [address_of(vector(1.0))])
    assert told["standings"] == {one.id: "averaged" if one is ann else "averaging" for one in those}


def test_a_task_of_rounds_has_no_mesh(serve: Serve) -> None:
    with pytest.raises(HTTPError) as refused:
        serve().get("/api/tasks/tiny/mesh")
    with refused.value as error:
        assert error.code == 404
