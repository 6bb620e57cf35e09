"""Hosts a group's machine: keeps the bytes, and performs the machine's effects over links.

Hashing, encoding and adding run on other threads, so that links stay alive meanwhile. The browser's twin is
webapp/static/src/client/mesh/exchange.ts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from backend.errors import GroupError, NotFiniteError, UpdateRefusedError
from backend.numerics.precision import Bytes
from backend.numerics.vectors import Vector
from backend.peer.mesh.masked_part_buffers import MaskedPartBuffers
from backend.peer.mesh.part_buffers import PartBuffers
from backend.peer.mesh.receiver import Receiver
from backend.peer.mesh.sender import Chunk, Data, GroupLinks, Sender, mean_of, piece_of
from backend.protocols.mesh.allreduce.group_events import (
    AddPiece,
    CancelTransfers,
    Effect,
    Event,
    FailGroup,
    FinishGroup,
    GroupTimePassed,
    MeanReceived,
    MemberFrameReceived,
    MemberLinked,
    MemberLost,
    MemberSilent,
    MemberUnfit,
    PieceReceived,
    Prepared,
    Reduce,
    Reduced,
    SendMean,
    SendPiece,
    SendToMembers,
)
from backend.protocols.mesh.allreduce.member import AllReduce
from backend.wire.mesh_codec import encode_mesh
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Attest, Begin, GroupFrame, Mean, PeerFrame, Piece


@dataclass(frozen=True)
class GroupOutcome:
    """The outcome of a group for a member that ends with the others.

    `mean` is [P]; `survivors` are the places of all members that have it; `fraction` is the share of all
    members' weight in it.
    """

    mean: Vector
    survivors: list[int]
    fraction: float
    seconds: float


class Exchange:
    """One member's part in one group, on one event loop. Owned by the averager.

    `own` is this peer's id, `vector` [P] its vector, which must not change, and `weight` its weight in the
    mean. Masks, where the order asks for them, are bound to `task` and `bundle` (SHA-256). The averager
    passes in frames of this group and changes of links, and keeps the exchange until it is `over`: others
    may ask for the result after this member has it. Raises GroupError for an order that cannot be followed.
    """

    def __init__(
        self, order: Group, own: str, vector: Vector, weight: float, links: GroupLinks, task: str, bundle: str
    ) -> None:
        self._order = order
        self._own = own
        self._weight = weight
        self._links = links
        self._loop = asyncio.get_running_loop()
        self._began_at = self._loop.time()
        try:
            self._place = order.members.index(own)
            self._machine = AllReduce(order, self._place, self._began_at)
            self._buffers = (
                MaskedPartBuffers(order, self._place, vector, task, bundle)
                if order.precision == "masked"
                else PartBuffers(order, self._place, vector)
            )
        except ValueError as error:
            raise GroupError(f"This group assignment cannot be used: {error}") from error
        self._places = {client: place for place, client in enumerate(order.members)}
        others = [client for client in order.members if client != own]
        self._receivers = {client: Receiver(len(order.bounds) - 1) for client in others}
        self._sender = Sender(links, order.members, own)
        self._jobs: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._result: asyncio.Future[GroupOutcome] = self._loop.create_future()
        self._is_closed = False

    # Calls of the averager.

    def start(self) -> None:
        """Encodes the own vector, and begins."""
        self._run_job(self._prepare())
        self._set_timer()

    async def result(self) -> GroupOutcome:
        """Waits for the outcome. Raises GroupError if this member has none."""
        return await asyncio.shield(self._result)

    def frame_received(self, client: str, frame: GroupFrame) -> None:
        """Takes a frame of this round and group."""
        if client not in self._receivers or self._is_closed:
            return
        if isinstance(frame, Piece | Mean):
            if not self._result.done():
                self._take_chunk(client, frame)
        elif not isinstance(frame, Attest):
            if isinstance(frame, Begin):
                self._buffers.add_key(self._places[client], frame.key)
            self._handle(MemberFrameReceived(self._places[client], frame))

    def up(self, client: str) -> None:
        """Takes a new link to `client`, or the end of its silence."""
        if client in self._receivers:
            self._handle(MemberLinked(self._places[client]))

    def down(self, client: str) -> None:
        """Takes the loss of the link to `client`, and of all bytes on it."""
        if client in self._receivers:
            self._sender.clear(client)
            self._receivers[client].clear()
            self._handle(MemberLost(self._places[client]))

    def silent(self, client: str) -> None:
        """Takes the silence of `client` for the group's patience."""
        if client in self._receivers:
            self._handle(MemberSilent(self._places[client]))

    @property
    def over(self) -> bool:
        """Whether no member of the group needs this one any more."""
        late = self._loop.time() - self._began_at > self._order.seconds + 2 * self._order.patience
        return self._is_closed or (self._result.done() and late)

    def close(self) -> None:
        """Ends the exchange; a waiting `result` raises GroupError."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._sender.close()
        for job in self._jobs:
            job.cancel()
        self._fail("This peer leaves the group.")

    # The machine.

    def _handle(self, event: Event) -> None:
        if self._is_closed:
            return
        for effect in self._machine.happened(event, self._loop.time()):
            self._perform(effect)
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._machine.timer()
        if due is not None:
            self._timer = self._loop.call_at(due, self._handle, GroupTimePassed())

    def _perform(self, effect: Effect) -> None:
        match effect:
            case SendToMembers(places=places, frame=frame):
                self._send(places, frame)
            case SendPiece(part=part, place=place, contributors=contributors):
                chunk = piece_of(self._order, part, contributors)
                self._queue_transfer(place, chunk, self._buffers.piece(effect))
            case SendMean(part=part, digest=digest, places=places):
                contributors, mean = self._buffers.means[part, digest]
                for place in places:
                    self._queue_transfer(place, mean_of(self._order, part, contributors), mean)
            case AddPiece():
                self._run_job(self._add(effect))
            case Reduce():
                self._run_job(self._reduce(effect))
            case CancelTransfers(place=place):
                self._sender.clear(self._order.members[place])
            case FinishGroup():
                self._run_job(self._finish(effect))
            case FailGroup(reason=reason):
                self._fail(reason)

    def _send(self, places: Iterable[int], frame: PeerFrame) -> None:
        data = encode_mesh(frame)
        for place in places:
            self._links.send(self._order.members[place], data)

    def _queue_transfer(self, place: int, chunk: Chunk, data: Data) -> None:
        self._sender.add(self._order.members[place], chunk, data)

    def _fail(self, reason: str) -> None:
        if not self._result.done():
            self._result.set_exception(GroupError(reason))
            # The error counts as retrieved, even if no caller waits for the result.
            self._result.exception()

    # Work on other threads.

    def _run_job(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._job_ended)

    def _job_ended(self, job: asyncio.Task[None]) -> None:
        self._jobs.discard(job)
        if not job.cancelled() and (error := job.exception()) and not self._result.done():
            self._result.set_exception(error)

    async def _prepare(self) -> None:
        try:
            self._buffers.own, commitments = await asyncio.to_thread(self._buffers.prepare)
        except NotFiniteError as error:
            self._handle(MemberUnfit(self._place, str(error)))
            return
        self._handle(Prepared(self._weight, commitments, self._buffers.key))

    def _take_chunk(self, client: str, frame: Piece | Mean) -> None:
        place = self._places[client]
        if frame.part >= len(self._order.bounds) - 1:
            self._handle(MemberUnfit(place, f"There is no part {frame.part}."))
            return
        try:
            data = self._receivers[client].take(frame, self._buffers.size(frame.part))
        except UpdateRefusedError as error:
            self._handle(MemberUnfit(place, str(error)))
            return
        if data is not None:
            read = self._read_mean if isinstance(frame, Mean) else self._read_piece
            self._run_job(read(place, frame.part, frame.contributors, data))

    async def _read_piece(self, place: int, part: int, contributors: list[int], data: Bytes) -> None:
        digest = await self._digest(place, lambda: self._buffers.read_piece(part, data))
        if digest is None:
            return
        if contributors and self._order.exchange == "ring":
            self._buffers.sums[part, place, frozenset(contributors)] = data
        else:
            self._buffers.pieces[part, place, tuple(contributors)] = data
        self._handle(PieceReceived(place, part, contributors, digest))

    async def _read_mean(self, place: int, part: int, contributors: list[int], data: Bytes) -> None:
        decode = self._buffers.is_first_mean(part)
        digest = await self._digest(place, lambda: self._buffers.read_mean(part, contributors, data, decode))
        if digest is not None:
            self._buffers.means.setdefault((part, digest), (contributors, data))
            self._handle(MeanReceived(place, part, contributors, digest))

    async def _digest(self, place: int, read: Callable[[], bytes]) -> bytes | None:
        """Returns the digest of bytes from `place`; reports invalid ones to the machine, and returns None."""
        try:
            return await asyncio.to_thread(read)
        except UpdateRefusedError as error:
            self._handle(MemberUnfit(place, str(error)))
            return None

    async def _add(self, effect: AddPiece) -> None:
        data = await asyncio.to_thread(self._buffers.add, effect)
        contributors = [*effect.contributors, self._place]
        self._queue_transfer(effect.place, piece_of(self._order, effect.part, contributors), data)

    async def _reduce(self, effect: Reduce) -> None:
        try:
            digest, mean = await asyncio.to_thread(self._buffers.reduce, effect)
        except NotFiniteError as error:
            self._handle(MemberUnfit(self._place, str(error)))
            return
        self._buffers.means.setdefault((effect.part, digest), (effect.contributors, mean))
        self._handle(Reduced(effect.part, effect.contributors, digest))

    async def _finish(self, effect: FinishGroup) -> None:
        # A mean that is still being decoded must not overwrite the one that was decided.
        others = [job for job in self._jobs if job is not asyncio.current_task()]
        if others:
            await asyncio.wait(others)
        mean = await asyncio.to_thread(self._buffers.result, effect.parts)
        if not self._result.done():
            seconds = self._loop.time() - self._began_at
            self._result.set_result(GroupOutcome(mean, effect.survivors, effect.fraction, seconds))
            self._buffers.clear()
