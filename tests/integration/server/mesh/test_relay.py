"""A mesh at its server, over real sockets: who is here, and what is carried from peer to peer."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from urllib.request import urlopen

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from backend.crypto.client_keys import identity_key
from backend.wire.mesh_codec import encode_mesh
from backend.wire.mesh_messages import Members, Relay, RelayTo, Signal, SignalTo, Unreachable
from backend.wire.messages import Closing, Leave
from tests.integration.server.conftest import Serve
from tests.support.timeouts import PATIENCE
from tests.support.web.mesh_client import MeshPeer
from tests.support.web.rounds_client import Client


async def test_peers_are_introduced_to_one_another_and_told_who_leaves(mesh: Serve) -> None:
    server = mesh()
    async with MeshPeer(server.url, ways=["webrtc", "relay"], kind="browser") as ann:
        async with MeshPeer(server.url, address="ws://192.0.2.1:7000/", ways=["websocket"]) as bob:
            for peer in (ann, bob):
                told = await peer.members(2)
                found = {one.client: one for one in told.members}
                assert found[ann.id].identity == identity_key(ann.private)
                assert (found[ann.id].ways, found[ann.id].kind) == (["webrtc", "relay"], "browser")
                assert found[bob.id].address == "ws://192.0.2.1:7000/"
            before = told.epoch
            await bob.say(Leave())
            left = await ann.members(1)
        assert left.epoch > before
        assert [one.client for one in left.members] == [ann.id]


async def test_who_enters_is_told_the_model_and_the_outer_step(mesh: Serve) -> None:
    server = mesh(server_optimizer='{ name = "nesterov", learning_rate = 0.5 }')
    summary = server.get("/api/tasks/tiny")
    assert summary["scheme"] == "decentralized"
    async with MeshPeer(server.url) as ann:
        told = ann.entered
    assert (told.bundle, told.weights, told.version) == (summary["bundle"], summary["weights"], 0)
    assert (told.outer.kind, told.outer.learning_rate, told.outer.momentum) == ("nesterov", 0.5, 0.9)
    assert told.ice == []


async def test_signals_and_parcels_reach_the_peer_they_are_for_in_their_order(mesh: Serve) -> None:
    server = mesh()
    async with MeshPeer(server.url) as ann, MeshPeer(server.url) as bob:
        parcels = [bytes([number]) * 65_000 for number in range(40)]
        await ann.say(SignalTo(client=bob.id, data=b"hello"))
        for parcel in parcels:
            await ann.say(RelayTo(client=bob.id, data=parcel))
        await ann.say(SignalTo(client=bob.id, data=b"bye"))
        assert await bob.next(Signal, Relay) == Signal(client=ann.id, data=b"hello")
        for parcel in parcels:
            assert await bob.next(Signal, Relay) == Relay(client=ann.id, data=parcel)
        assert await bob.next(Signal, Relay) == Signal(client=ann.id, data=b"bye")


async def test_what_is_for_a_peer_that_is_not_here_is_said_to_be_lost(mesh: Serve) -> None:
    server = mesh()
    async with MeshPeer(server.url) as ann:
        await ann.say(SignalTo(client="f" * 16, data=b"hello"))
        assert await ann.next(Unreachable) == Unreachable(client="f" * 16)


async def test_a_peer_that_reads_slowly_slows_its_sender_down_and_stays_connected(
    mesh: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINGA_RELAY_BYTES_PER_SECOND", "100000000")
    server, count = mesh(), 400
    async with MeshPeer(server.url) as ann, MeshPeer(server.url) as bob:

        async def send() -> None:
            for number in range(count):
                await ann.say(RelayTo(client=bob.id, data=number.to_bytes(4, "little") * 16_000))

        sending = asyncio.create_task(send())
        await asyncio.sleep(1.0)  # Nobody reads: 25 MB are more than what may wait anywhere.
        assert not sending.done()
        for number in range(count):
            parcel = await bob.next(Relay)
            assert parcel.data[:4] == number.to_bytes(4, "little")
        await sending


async def test_the_same_peer_from_elsewhere_takes_its_place(mesh: Serve) -> None:
    server = mesh()
    async with MeshPeer(server.url) as ann, MeshPeer(server.url, token=ann.token) as again:
        assert (await ann.next(Closing)).code == "replaced"
        assert ann.id == again.id
        assert len((await again.next(Members)).members) == 1


@pytest.mark.parametrize(
    ("first", "sentence"),
    [(Leave(), "first frame must be enter"), (b"\x00", "not a message"), (b"\xc1" * 200_000, "at most")],
    ids=["left", "garbage", "too-long"],
)
async def test_whoever_does_not_enter_properly_is_told_why(
    mesh: Serve, first: Leave | bytes, sentence: str
) -> None:
    peer = MeshPeer(mesh().url)
    async with connect(peer.address, subprotocols=["minga-mesh.1"]) as peer.socket:  # type: ignore[list-item]  # A NewType of str.
        await peer.socket.send(first if isinstance(first, bytes) else encode_mesh(first))
        closing = await peer.next(Closing)
    assert closing.code == "bad-frame"
    assert sentence in closing.reason


async def test_a_client_of_rounds_is_told_which_protocol_a_mesh_speaks(mesh: Serve) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await Client(mesh().url).__aenter__()
    assert refused.value.response.status_code == 403
    told = json.loads(refused.value.response.body or b"")
    assert told["error"]["message"] == "Ask for the subprotocol minga-mesh.1."


async def test_peers_are_told_the_servers_that_help_them_to_links(
    mesh: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("north-wind-and-sun\n")
    monkeypatch.setenv("MINGA_ICE_SERVERS", "stun:stun.example.org:3478, turn:turn.example.org:3478")
    monkeypatch.setenv("MINGA_TURN_SECRET_FILE", os.fspath(secret))
    async with MeshPeer(mesh().url) as ann:
        stun, turn = ann.entered.ice
    assert (stun.urls, stun.username) == (["stun:stun.example.org:3478"], "")
    assert turn.username.endswith(f":{ann.id}")
    assert turn.credential


def test_the_pages_of_a_decentralized_task_say_who_learns_what_and_what_it_costs(mesh: Serve) -> None:
    server = mesh()
    with urlopen(f"{server.url}/tasks/tiny", timeout=PATIENCE) as answer:
        page = answer.read().decode()
    assert "The server never receives your update" in page
    assert "to the others in your group" in page
    for path in ("/tasks/tiny/train", "/tasks/tiny/model", "/tasks/tiny/rounds"):
        with urlopen(server.url + path, timeout=PATIENCE) as answer:
            assert answer.status == 200
