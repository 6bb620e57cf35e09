"""A server of masked rounds on a real socket that sums a version's updates as often as its clients let it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol

from backend.crypto.round_context import Terms
from backend.crypto.unmasking import Job, unmask
from backend.numerics.masking.bit_packing import add_update, masked_words
from backend.numerics.masking.encoding import decode
from backend.protocols.secagg import server_effects
from backend.protocols.secagg.server import MaskedRound
from backend.protocols.secagg.server_stages import ServerStage
from backend.protocols.secagg.terms import encoding_of, terms_of
from backend.wire import messages
from backend.wire.client_id import client_id
from backend.wire.codec import decode_client, encode
from tests.support.timeouts import PATIENCE

BUNDLE, WEIGHTS = "b" * 64, "a" * 64
MASKING = messages.Masking(
    bits=32, clip=4.0, examples=1, noise=0.0, share=1.0, min_clients=3, server="active"
)
Sum = NDArray[np.float64]


@dataclass
class Volunteer:
    """One client as the server sees it; `link` is its newest connection."""

    link: ServerConnection
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    offered: int = 0
    content: bytearray = field(default_factory=bytearray)


@dataclass
class OpenRound:
    """One round, and the sum that was read in it."""

    masks: MaskedRound
    sum: Sum | None = None


@dataclass
class LyingServer:
    """Opens whatever rounds it likes, several at a time, and takes from each its sum.

    `parameters` is the length of an update. Plans have the `changes`, and `welcome` the terms of `privacy`.
    `declined` has the clients that declined a round, by its number.
    """

    parameters: int
    volunteers: dict[str, Volunteer] = field(default_factory=dict)
    declined: dict[int, set[str]] = field(default_factory=dict)
    address: str = ""
    run: str = "c" * 64
    changes: dict[str, Any] = field(default_factory=dict)
    privacy: messages.PrivacyTerms | None = None
    _rounds: dict[int, OpenRound] = field(default_factory=dict)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def arrived(self, clients: int) -> None:
        """Waits until so many clients are ready."""
        async with asyncio.timeout(PATIENCE):
            while sum(one.ready.is_set() for one in self.volunteers.values()) < clients:
                await self._change()

    async def a_decline(self) -> None:
        """Waits until a client declined a round; others' shares may have revealed its sum before."""
        async with asyncio.timeout(PATIENCE):
            while not self.declined:
                await self._change()

    async def sum_of(self, cohort: Collection[str], number: int, version: int) -> Sum | None:
        """Plays round `number` of `version` with `cohort`; returns the sum, or None if none is revealed."""
        terms = self._terms(number, version)
        members = sorted(cohort)
        for client in members:
            self.volunteers[client].offered, self.volunteers[client].content = 0, bytearray()
        masks = MaskedRound(terms, members, 60.0, self._now(), grace=0.0)
        self._rounds[number] = OpenRound(masks)
        for client in members:
            await self._tell(client, replace(plan_of(number, version), **self.changes))
        async with asyncio.timeout(PATIENCE):
            while masks.stage not in (ServerStage.DONE, ServerStage.FAILED):
                if masks.stage is ServerStage.MASKED_INPUT and await self._inputs_taken(masks, terms):
                    await self._perform(masks.inputs_over(self._now()), terms)
                    continue
                await self._change()
        return self._rounds.pop(number).sum

    async def say_abandoned(self, number: int) -> None:
        """Says to all that round `number` came to nothing."""
        for client in self.volunteers:
            await self._tell(client, messages.Abandoned(round=number, reason="Too few updates came."))

    async def hear(self, link: ServerConnection) -> None:
        """Serves one connection."""
        client = ""
        async for data in link:
            assert isinstance(data, bytes)
            if not data:
                await link.send(data)
                continue
            frame = decode_client(data)
            if isinstance(frame, messages.Hello):
                client = client_id(frame.token)
                self.volunteers[client] = Volunteer(link)
                await self._tell(client, self._welcome(client))
            else:
                await self._heard(client, frame)
            async with self._changed:
                self._changed.notify_all()

    def _welcome(self, client: str) -> messages.Welcome:
        return messages.Welcome(
            task="tiny",
            client=client,
            bundle=BUNDLE,
            run=self.run,
            chunk_bytes=1 << 16,
            aggregation="masked",
            masking=messages.AggregationTerms(
                clip=MASKING.clip, min_clients=MASKING.min_clients, server=MASKING.server
            ),
            privacy=self.privacy,
        )

    async def _heard(self, client: str, frame: messages.ClientFrame) -> None:
        volunteer, now = self.volunteers[client], self._now()
        match frame:
            case messages.Ready():
                volunteer.ready.set()
                return
            case messages.Decline(round=number):
                self.declined.setdefault(number, set()).add(client)
        opened = self._rounds.get(getattr(frame, "round", 0))
        if opened is None:
            return
        masks = opened.masks
        effects: list[server_effects.Effect] = []
        match frame:
            case messages.Keys():
                effects = masks.keys_arrived(client, frame, now)
            case messages.Shares():
                effects = masks.shares_arrived(client, frame, now)
            case messages.ConsistencySignature():
                effects = masks.consistency_signature_arrived(client, frame, now)
            case messages.Reveal():
                effects = masks.reveal_arrived(client, frame, now)
            case messages.Decline():
                effects = masks.declined(client, frame, now)
            case messages.Offer(round=number, size=size):
                volunteer.offered = size
                await self._tell(client, messages.Credit(round=number, until=size))
            case messages.Chunk(data=data):
                volunteer.content += data
        await self._perform(effects, masks.terms)

    async def _inputs_taken(self, masks: MaskedRound, terms: Terms) -> bool:
        """Whether the updates of all that share masks came; then they count, and their clients are told."""
        sharing = masks.graph.clients(masks.graph.pairs)
        waiting = [self.volunteers[client] for client in sharing]
        if not all(one.offered and len(one.content) == one.offered for one in waiting):
            return False
        for client in sharing:
            masks.input_accepted(client)
            await self._tell(client, messages.Accepted(round=terms.round, examples=0))
        return True

    async def _perform(self, effects: Sequence[server_effects.Effect], terms: Terms) -> None:
        for effect in effects:
            match effect:
                case server_effects.Tell(client, frame):
                    await self._tell(client, frame)
                case server_effects.TellAll(clients, frame):
                    for client in clients:
                        await self._tell(client, frame)
                case server_effects.Recover():
                    opened = self._rounds[effect.round]
                    opened.sum = self._unmasked(effect, terms)
                    opened.masks.unmasked()

    def _unmasked(self, recover: server_effects.Recover, terms: Terms) -> Sum:
        words = np.zeros(masked_words(self.parameters, terms.rows), np.uint32)
        for place in recover.alive:
            content = self.volunteers[recover.members[place].client].content
            add_update(words, memoryview(bytes(content)), self.parameters, terms.rows, terms.bits)
        unmask(words, recover, 1, _one_by_one)
        decoded = decode(encoding_of(terms, len(recover.members)), words)
        return decoded.mean.astype(np.float64) * decoded.weight

    def _terms(self, number: int, version: int) -> Terms:
        return terms_of(
            MASKING, task="tiny", bundle=BUNDLE, number=number, version=version, weights=WEIGHTS,
            parameters=self.parameters, rows=1,
        )  # fmt: skip

    async def _tell(self, client: str, frame: messages.ServerFrame) -> None:
        await self.volunteers[client].link.send(encode(frame))

    async def _change(self) -> None:
        async with self._changed:
            await self._changed.wait()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


@asynccontextmanager
async def lying_server(parameters: int) -> AsyncIterator[LyingServer]:
    """A lying server of a model with so many `parameters`."""
    server = LyingServer(parameters)
    async with serve(
        server.hear, "127.0.0.1", 0, subprotocols=[Subprotocol(messages.PROTOCOL)], compression=None
    ) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        server.address = f"ws://127.0.0.1:{port}/api/tasks/tiny/socket"
        yield server


def plan_of(number: int, version: int) -> messages.Train:
    """The same plan in every round of a version, whatever the round's number."""
    return messages.Train(
        round=number, version=version, weights=WEIGHTS, epochs=1, steps=0, batch_size=8, learning_rate=0.1,
        past_steps=0, seed=7, proximal_mu=0.0, control=None, masking=MASKING, privacy=None,
        shards=[messages.Shard(sha256="d" * 64, examples=8)], seconds=60.0,
    )  # fmt: skip


def _one_by_one(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job()


def new_token() -> str:
    """A client's secret."""
    return secrets.token_urlsafe(24)
