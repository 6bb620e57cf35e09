"""Honest and lying peers of a mesh, with real sockets: rounds that are recorded, and certificates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import numpy as np

from backend.wire.mesh_messages import Certificate, Deposit, Group, Signed
from backend.wire.messages import Train, Version
from tests.support.tasks.tiny_task import SIZE
from tests.support.web.mesh_client import MeshPeer, address_of
from tests.support.web.server_process import Server

COORDINATION = {"averaging": "{ patience = 0.5 }", "min_available_clients": 3, "deadline": 20}
# Groups that peers form without their server are numbered from here on.
SERVERLESS_GROUP = 1 << 40


def vector(value: float) -> bytes:
    """Returns weights that are all the same."""
    return np.full(SIZE, value, "<f4").tobytes()


@asynccontextmanager
async def connected(
    server: Server, known: Sequence[MeshPeer] = (), count: int = 0, **changes: Any
) -> AsyncIterator[list[MeshPeer]]:
    """Connects `known` peers again and `count` new ones, all ready; `changes` are to their first frame."""
    async with AsyncExitStack() as stack:
        peers = [MeshPeer(server.url, token=one.token, private=one.private, **changes) for one in known]
        peers += [MeshPeer(server.url, **changes) for _ in range(count)]
        for peer in peers:
            await stack.enter_async_context(peer)
            await peer.ready()
        yield peers


async def grouped(peers: Sequence[MeshPeer]) -> Group:
    """Lets all peers train; returns their group."""
    for peer in peers:
        await peer.trained(await peer.next(Train))
    groups = [await peer.next(Group) for peer in peers]
    assert groups[0] == groups[-1]
    return groups[0]


async def bring(peers: Sequence[MeshPeer], weights: bytes) -> Version:
    """Uploads the weights as soon as one of the peers is asked for them; returns the version made of them."""
    asked = [asyncio.create_task(peer.next(Deposit)) for peer in peers]
    done, rest = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    assert {task.result().weights for task in done} == {address_of(weights)}
    assert await peers[0].put(weights) == 204
    return await peers[0].next(Version)


async def make_version(peers: Sequence[MeshPeer], weights: bytes) -> Group:
    """Makes one recorded round of all peers; returns its group."""
    group = await grouped(peers)
    for peer in peers:
        await peer.averaged(group, weights, range(len(group.members)))
    await bring(peers, weights)
    return group


def certificate_of(
    survivors: Sequence[MeshPeer],
    signers: Sequence[MeshPeer],
    weights: bytes,
    number: int,
    group: int = SERVERLESS_GROUP,
) -> Certificate:
    """Returns a certificate of `signers` that `survivors` made the weights in round `number`."""
    names = sorted(peer.id for peer in survivors)
    return Certificate(
        bundle=survivors[0].entered.bundle,
        run=survivors[0].entered.run,
        round=number,
        group=group,
        weights=address_of(weights),
        survivors=names,
        signatures=[
            Signed(
                client=peer.id,
                identity=peer.enter().identity,
                signature=peer.sign_for(number, group, names, weights),
            )
            for peer in signers
        ],
    )


def showing(certificate: Certificate) -> dict[str, Any]:
    """Returns the changes to a peer's first frame by which it shows the certificate."""
    return {"round": certificate.round, "holds": certificate.weights, "certificate": certificate}


async def plans_despite(liars: Sequence[MeshPeer], honest: Sequence[MeshPeer], lie: bytes) -> list[Train]:
    """Returns the next plan of each honest peer, while liars upload their weights as soon as they may."""
    uploads = [asyncio.create_task(plan_after_upload(liar, lie)) for liar in liars]
    try:
        return await asyncio.gather(*(peer.next(Train) for peer in honest))
    finally:
        for task in uploads:
            task.cancel()
        await asyncio.gather(*uploads, return_exceptions=True)


async def plan_after_upload(peer: MeshPeer, weights: bytes) -> Train:
    """Returns the next plan of a peer, which uploads the weights if it is asked for them."""
    while not isinstance(message := await peer.next(Deposit, Train), Train):
        await peer.put(weights)
    return message
