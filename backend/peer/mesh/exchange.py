"""The host of a group's machine: it has the bytes, and does over links what the machine decides.

Hashing, encoding and adding up run on other threads, so that links stay alive meanwhile. The browser's twin
is webapp/static/src/client/mesh/exchange.ts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from backend.errors import GroupError, NotFiniteError, UpdateRefusedError
from backend.numerics.precision import Bytes
from backend.numerics.vectors import Vector
from backend.peer.mesh.masked_part_buffers import MaskedHolding
from backend.peer.mesh.part_buffers import PartBuffers
from backend.peer.mesh.receiver import Receiver
from backend.peer.mesh.sender import Chunk, Data, Lines, Sender, mean_of, piece_of
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
    """What a group ended with: the mean [P], who has it (by places), and how much of all weight is in it."""

    mean: Vector
    survivors: list[int]
    fraction: float
    seconds: float


class Exchange:
    """One member's part in one group, on one event loop. Owned by the session.

    `own` is this peer's id, `vector` [P] what it brings with `weight`; it must not change. Masks, where the
    order asks for them, are bound to `task` and `bundle` (SHA-256). The session hands
    on frames of this group and what becomes of links, and keeps the exchange until it is `over`: others may
    ask for the result after this member has it. Raises GroupError for an order that does not fit.
    """

    def __init__(
        self, order: Group, own: str, vector: Vector, weight: float, links: Lines, task: str, bundle: str
    ) -> None:
        self._order = order
        self._own = own
        self._weight = weight
        self._links = links
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        try:
            self._place = order.members.index(own)
            self._machine = AllReduce(order, self._place, self._began)
            self._holding = (
                MaskedHolding(order, self._place, vector, task, bundle)
                if order.precision == "masked"
                else PartBuffers(order, self._place, vector)
            )
        except ValueError as error:
            raise GroupError(f"The order of this group cannot be followed: {error}") from error
        self._places = {client: place for place, client in enumerate(order.members)}
        others = [client for client in order.members if client != own]
        self._arriving = {client: Receiver(len(order.bounds) - 1) for client in others}
        self._departing = Sender(links, order.members, own)
        self._jobs: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._result: asyncio.Future[GroupOutcome] = self._loop.create_future()
        self._is_closed = False

    # What the session calls.

    def start(self) -> None:
        """Encodes what this member brings, and begins."""
        self._do(self._prepare())
        self._set_timer()

    async def result(self) -> GroupOutcome:
        """Waits for the end. Raises GroupError where this member has no result."""
        return await asyncio.shield(self._result)

    def heard(self, client: str, frame: GroupFrame) -> None:
        """A frame of this group came from `client`."""
        if client not in self._arriving or self._is_closed:
            return
        if isinstance(frame, Piece | Mean):
            if not self._result.done():
                self._chunk_came(client, frame)
        elif not isinstance(frame, Attest):
            if isinstance(frame, Begin):
                self._holding.met(self._places[client], frame.key)
            self._happened(MemberFrameReceived(self._places[client], frame))

    def up(self, client: str) -> None:
        """There is a link to `client`, or it is heard of again."""
        if client in self._arriving:
            self._happened(MemberLinked(self._places[client]))

    def down(self, client: str) -> None:
        """The link to `client` is gone, and all that was on its way."""
        if client in self._arriving:
            self._departing.clear(client)
            self._arriving[client].forget()
            self._happened(MemberLost(self._places[client]))

    def silent(self, client: str) -> None:
        """For the group's patience nothing came from `client`."""
        if client in self._arriving:
            self._happened(MemberSilent(self._places[client]))

    @property
    def over(self) -> bool:
        """Whether nobody can ask for anything of this group any more."""
        late = self._loop.time() - self._began > self._order.seconds + 2 * self._order.patience
        return self._is_closed or (self._result.done() and late)

    def close(self) -> None:
        """Lets go of everything. Who waits for the result gets GroupError."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._departing.close()
        for job in self._jobs:
            job.cancel()
        self._fail("This peer leaves the group.")

    # The machine.

    def _happened(self, event: Event) -> None:
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
            self._timer = self._loop.call_at(due, self._happened, GroupTimePassed())

    def _perform(self, effect: Effect) -> None:
        match effect:
            case SendToMembers(places=places, frame=frame):
                self._say(places, frame)
            case SendPiece(part=part, place=place, contributors=contributors):
                chunk = piece_of(self._order, part, contributors)
                self._depart(place, chunk, self._holding.piece(effect))
            case SendMean(part=part, digest=digest, places=places):
                contributors, mean = self._holding.means[part, digest]
                for place in places:
                    self._depart(place, mean_of(self._order, part, contributors), mean)
            case AddPiece():
                self._do(self._add(effect))
            case Reduce():
                self._do(self._reduce(effect))
            case CancelTransfers(place=place):
                self._departing.clear(self._order.members[place])
            case FinishGroup():
                self._do(self._finish(effect))
            case FailGroup(reason=reason):
                self._fail(reason)

    def _say(self, places: Iterable[int], frame: PeerFrame) -> None:
        data = encode_mesh(frame)
        for place in places:
            self._links.send(self._order.members[place], data)

    def _depart(self, place: int, chunk: Chunk, data: Data) -> None:
        self._departing.add(self._order.members[place], chunk, data)

    def _fail(self, reason: str) -> None:
        if not self._result.done():
            self._result.set_exception(GroupError(reason))
            # Who does not wait for it has no use for the error either.
            self._result.exception()

    # What takes long.

    def _do(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._done)

    def _done(self, job: asyncio.Task[None]) -> None:
        self._jobs.discard(job)
        if not job.cancelled() and (error := job.exception()) and not self._result.done():
            self._result.set_exception(error)

    async def _prepare(self) -> None:
        try:
            self._holding.own, commitments = await asyncio.to_thread(self._holding.prepare)
        except NotFiniteError as error:
            self._happened(MemberUnfit(self._place, str(error)))
            return
        self._happened(Prepared(self._weight, commitments, self._holding.key))

    def _chunk_came(self, client: str, frame: Piece | Mean) -> None:
        place = self._places[client]
        if frame.part >= len(self._order.bounds) - 1:
            self._happened(MemberUnfit(place, f"There is no part {frame.part}."))
            return
        try:
            data = self._arriving[client].chunk(frame, self._holding.size(frame.part))
        except UpdateRefusedError as error:
            self._happened(MemberUnfit(place, str(error)))
            return
        if data is not None:
            read = self._mean_came if isinstance(frame, Mean) else self._piece_came
            self._do(read(place, frame.part, frame.contributors, data))

    async def _piece_came(self, place: int, part: int, contributors: list[int], data: Bytes) -> None:
        digest = await self._read(place, lambda: self._holding.read_piece(part, data))
        if digest is None:
            return
        if contributors and self._order.exchange == "ring":
            self._holding.sums[part, place, frozenset(contributors)] = data
        else:
            self._holding.pieces[part, place, tuple(contributors)] = data
        self._happened(PieceReceived(place, part, contributors, digest))

    async def _mean_came(self, place: int, part: int, contributors: list[int], data: Bytes) -> None:
        decode = self._holding.is_first_mean(part)
        digest = await self._read(place, lambda: self._holding.read_mean(part, contributors, data, decode))
        if digest is not None:
            self._holding.means.setdefault((part, digest), (contributors, data))
            self._happened(MeanReceived(place, part, contributors, digest))

    async def _read(self, place: int, digest: Callable[[], bytes]) -> bytes | None:
        """The digest of what came from `place`; None where it is of no use, which the machine is told."""
        try:
            return await asyncio.to_thread(digest)
        except UpdateRefusedError as error:
            self._happened(MemberUnfit(place, str(error)))
            return None

    async def _add(self, todo: AddPiece) -> None:
        data = await asyncio.to_thread(self._holding.add, todo)
        contributors = [*todo.contributors, self._place]
        self._depart(todo.place, piece_of(self._order, todo.part, contributors), data)

    async def _reduce(self, todo: Reduce) -> None:
        try:
            digest, mean = await asyncio.to_thread(self._holding.reduce, todo)
        except NotFiniteError as error:
            self._happened(MemberUnfit(self._place, str(error)))
            return
        self._holding.means.setdefault((todo.part, digest), (todo.contributors, mean))
        self._happened(Reduced(todo.part, todo.contributors, digest))

    async def _finish(self, end: FinishGroup) -> None:
        # A mean that is still being decoded must not be written over the one that counts.
        others = [job for job in self._jobs if job is not asyncio.current_task()]
        if others:
            await asyncio.wait(others)
        mean = await asyncio.to_thread(self._holding.result, end.parts)
        if not self._result.done():
            seconds = self._loop.time() - self._began
            self._result.set_result(GroupOutcome(mean, end.survivors, end.fraction, seconds))
            self._holding.let_go()
