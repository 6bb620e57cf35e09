"""A group of machines in a simulated network: real vectors and digests, seeded delays and faults.

There are no sockets. Links keep order within control and within bulk, not between them, as two data channels
do. A link that goes down loses what it carries. A frozen link keeps what is sent on it until it thaws; a
paused process keeps what arrives until it resumes.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import numpy as np

from backend.crypto.client_keys import agreement_key
from backend.crypto.keystream import add_keystreams
from backend.crypto.pads import PadContext, common_key, pads
from backend.errors import MingaError
from backend.numerics.aggregation.part_mean import pass_on, reduce_part, shares
from backend.numerics.masking.masked_parts import add_words, checked_mean, piece_words, to_bytes
from backend.numerics.precision import Bytes, decode, encode
from backend.protocols.mesh.allreduce import group_events
from backend.protocols.mesh.allreduce.member import AllReduce
from backend.wire.mesh_codec import decode_peer, encode_mesh
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Begin

# The members that share a masked piece; () where it is not masked.
Set = tuple[int, ...]


def digest_of(contributors: list[int], data: Bytes) -> bytes:
    """Returns the SHA-256 of a mean, as decision record 0025 defines it."""
    return hashlib.sha256(bytes([len(contributors), *contributors]) + data.tobytes()).digest()


@dataclass
class Link:
    """A pair's link; `life` counts its connections, 0 while it is down."""

    life: int = 0
    lives: int = 0
    frozen_until: float = 0.0
    # The arrival time of the last frame per direction and kind, since nothing overtakes.
    last: dict[tuple[int, bool], float] = field(default_factory=dict)


@dataclass
class Member:
    """A process: its machine, and its host's bytes."""

    machine: AllReduce
    vector: np.ndarray[Any, np.dtype[np.float32]]
    weight: float
    alive: bool = True
    paused_until: float = 0.0
    # The factor by which its bulk transfers are slower than others'.
    slowness: float = 1.0
    # The false pieces that it sends, by part.
    lies: dict[int, bytes] = field(default_factory=dict)
    # The delay of its vector's encoding.
    hesitates: float = 0.0
    own: list[Bytes] = field(default_factory=list)
    # For masks: its X25519 key, and the other members' public keys.
    private: bytes = b""
    keys: dict[int, bytes] = field(default_factory=dict)
    common: dict[int, bytes] = field(default_factory=dict)
    # The sets over which it made a sum, by part.
    summed: dict[int, set[Set]] = field(default_factory=lambda: defaultdict(set))
    pieces: dict[tuple[int, int, Set], Bytes] = field(default_factory=dict)
    sums: dict[int, Bytes] = field(default_factory=dict)
    means: dict[tuple[int, bytes], tuple[list[int], Bytes]] = field(default_factory=dict)
    heard_at: dict[int, float] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)
    ended_at: float = 0.0
    result: group_events.FinishGroup | None = None
    failure: str | None = None


class World:
    """All members of one group; `at` schedules events, `run` plays until all ended or time is over."""

    def __init__(self, order: Group, random: Random, weights: list[float], values: int) -> None:
        self.order, self.random, self.now = order, random, 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self.log: list[tuple[float, int, group_events.Event, list[group_events.Effect]]] = []
        generator = np.random.default_rng(random.getrandbits(32))
        self.members = [
            Member(AllReduce(order, place, 0.0), generator.normal(size=values).astype(np.float32), weight)
            for place, weight in enumerate(weights)
        ]
        self.masked = order.precision == "masked"
        for member in self.members if self.masked else ():
            member.private = random.randbytes(32)
        self.links = {frozenset(pair): Link() for pair in itertools.combinations(range(len(weights)), 2)}
        self.pieces_sent: dict[int, int] = defaultdict(int)
        for member in self.members:
            member.heard_at = dict.fromkeys(range(len(weights)), 0.0)
        for place in range(len(weights)):
            self.at(random.random() * order.patience / 4, partial(self._beat, place))

    # The interface for schedules.

    def at(self, time: float, what: Callable[[], None]) -> None:
        """Schedules an event."""
        heapq.heappush(self._queue, (max(time, self.now), next(self._numbers), what))

    def run(self, until: float) -> None:
        """Plays scheduled events up to this time, or until every living member ended."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _, what = heapq.heappop(self._queue)
            what()
            if all(not one.alive or one.machine.over for one in self.members):
                return

    def prepare(self, place: int) -> None:
        """Encodes the member's vector."""
        member, bounds = self.members[place], self.order.bounds
        if member.hesitates:
            delay, member.hesitates = member.hesitates, 0.0
            self.at(self.now + delay, partial(self.prepare, place))
            return
        if self.masked:
            self.tell(place, group_events.Prepared(member.weight, [], agreement_key(member.private)))
            return
        member.own = [
            encode(member.vector[start:end], self.order.precision)
            for start, end in itertools.pairwise(bounds)
        ]
        ring = self.order.exchange == "ring"
        commitments = [] if ring else [hashlib.sha256(piece.tobytes()).digest() for piece in member.own]
        self.tell(place, group_events.Prepared(member.weight, commitments))

    def connect(self, one: int, other: int) -> None:
        """Brings their link up."""
        link = self.links[frozenset((one, other))]
        if link.life == 0 and self.members[one].alive and self.members[other].alive:
            link.lives += 1
            link.life = link.lives
            link.last = {}
            for place, far in ((one, other), (other, one)):
                self.members[place].heard_at[far] = self.now
                self.members[place].silent.discard(far)
                self.tell(place, group_events.MemberLinked(far))

    def cut(self, one: int, other: int) -> None:
        """Takes their link down; both notice."""
        link = self.links[frozenset((one, other))]
        if link.life:
            link.life = 0
            self.tell(one, group_events.MemberLost(other))
            self.tell(other, group_events.MemberLost(one))

    def freeze(self, one: int, other: int, until: float) -> None:
        """Freezes their link until this time; neither is notified."""
        link = self.links[frozenset((one, other))]
        link.frozen_until = max(until, link.frozen_until)

    def kill(self, place: int, *, noticed: bool) -> None:
        """Ends the process and its machine; others notice only if `noticed`."""
        self.members[place].alive = False
        for other in range(len(self.members)):
            if other != place and noticed:
                self.cut(place, other)

    def pause(self, place: int, until: float) -> None:
        """Pauses the process."""
        self.members[place].paused_until = max(until, self.members[place].paused_until)

    # Processes.

    def tell(self, place: int, event: group_events.Event) -> None:
        """Gives a member's machine an event, now or when its process resumes."""
        member = self.members[place]
        if not member.alive:
            return
        if self.now < member.paused_until:
            self.at(member.paused_until, lambda: self.tell(place, event))
            return
        effects = member.machine.happened(event, self.now)
        self.log.append((self.now, place, event, effects))
        for effect in effects:
            self._perform(place, effect)
        timer = member.machine.timer()
        if timer is not None:
            self.at(timer, lambda: self._ring(place))

    def _ring(self, place: int) -> None:
        member = self.members[place]
        timer = member.machine.timer()
        if member.alive and (timer is None or self.now >= member.paused_until):
            self.tell(place, group_events.GroupTimePassed())
        elif member.alive:
            self.at(member.paused_until, lambda: self._ring(place))

    def _beat(self, place: int) -> None:
        """Sends heartbeats and detects silent members."""
        member = self.members[place]
        if not member.alive:
            return
        if self.now >= member.paused_until:
            for other in range(len(self.members)):
                link = self.links.get(frozenset((place, other)))
                if link is None or not link.life:
                    continue
                self._carry(place, other, False, 0.01, lambda: None)
                if self.now - member.heard_at[other] > self.order.patience and other not in member.silent:
                    member.silent.add(other)
                    self.tell(place, group_events.MemberSilent(other))
        self.at(self.now + self.order.patience / 4, lambda: self._beat(place))

    def _carry(self, place: int, far: int, bulk: bool, delay: float, then: Callable[[], None]) -> None:
        """Sends something over a link; `then` runs at the other end if it arrives."""
        link = self.links[frozenset((place, far))]
        life = link.life
        if not life:
            return
        last = link.last.get((place, bulk), 0.0)
        time = max(self.now + delay, last + 1e-6, link.frozen_until)
        link.last[place, bulk] = time

        def arrive() -> None:
            member = self.members[far]
            if link.life != life or not member.alive:
                return
            if max(member.paused_until, link.frozen_until) > self.now:
                self.at(max(member.paused_until, link.frozen_until), arrive)
                return
            member.heard_at[place] = self.now
            if place in member.silent:
                member.silent.discard(place)
                self.tell(far, group_events.MemberLinked(place))
            then()

        self.at(time, arrive)

    # Effects.

    def _perform(self, place: int, effect: group_events.Effect) -> None:
        member = self.members[place]
        match effect:
            case group_events.SendToMembers(places, frame):
                for far in places:
                    self._carry(place, far, False, self._delay(), self._hears(far, place, encode_mesh(frame)))
            case group_events.SendPiece(part, far, contributors, weights):
                lie = member.lies.get(part)
                if lie is not None:
                    data = np.frombuffer(lie, np.uint8)
                elif self.masked:
                    data = self._masked_piece(place, part, contributors, weights)
                else:
                    data = member.own[part]
                self._piece(place, far, part, contributors, data)
            case group_events.AddPiece(part, source, contributors, weight, far):
                data = self._summed(member, part, source, np.float32(weight))
                self._piece(place, far, part, [*contributors, place], data)
            case group_events.Reduce(part, contributors, weights, source):
                self.at(
                    self.now + self._delay(),
                    lambda: self._reduce(place, part, contributors, weights, source),
                )
            case group_events.SendMean(part, digest, places):
                contributors, data = member.means[part, digest]
                for far in places:
                    self._mean(place, far, part, contributors, data)
            case group_events.FinishGroup():
                member.result, member.ended_at = effect, self.now
            case group_events.FailGroup(reason):
                member.failure, member.ended_at = reason, self.now
            case group_events.CancelTransfers():
                pass

    def _delay(self) -> float:
        return 0.001 + self.random.random() * 0.05

    def _bulk_delay(self, place: int, far: int) -> float:
        slowness = max(self.members[place].slowness, self.members[far].slowness)
        return (0.05 + self.random.random() * 0.5) * slowness

    def _hears(self, far: int, place: int, frame: bytes) -> Callable[[], None]:
        heard: Any = decode_peer(frame)

        def then() -> None:
            if isinstance(heard, Begin):
                self.members[far].keys.setdefault(place, heard.key)
            self.tell(far, group_events.MemberFrameReceived(place, heard))

        return then

    def _piece(self, place: int, far: int, part: int, contributors: list[int], data: Bytes) -> None:
        def then() -> None:
            self.pieces_sent[part] += 1
            member = self.members[far]
            if contributors and not self.masked:
                member.sums[part] = data
            elif self.masked and len(data) != 4 * self._values(part):
                self.tell(far, group_events.MemberUnfit(place, "Its piece has the wrong length."))
                return
            else:
                member.pieces[part, place, tuple(contributors)] = data
            digest = hashlib.sha256(data.tobytes()).digest()
            self.tell(far, group_events.PieceReceived(place, part, contributors, digest))

        self._carry(place, far, True, self._bulk_delay(place, far), then)

    def _mean(self, place: int, far: int, part: int, contributors: list[int], data: Bytes) -> None:
        def then() -> None:
            digest = digest_of(contributors, data)
            self.members[far].means[part, digest] = contributors, data
            self.tell(far, group_events.MeanReceived(place, part, contributors, digest))

        self._carry(place, far, True, self._bulk_delay(place, far), then)

    def _span(self, part: int) -> slice:
        return slice(self.order.bounds[part], self.order.bounds[part + 1])

    def _values(self, part: int) -> int:
        return self.order.bounds[part + 1] - self.order.bounds[part]

    def _masked_piece(self, place: int, part: int, contributors: list[int], weights: list[float]) -> Bytes:
        member, order = self.members[place], self.order
        share = shares(weights)[contributors.index(place)]
        words = piece_words(member.vector[self._span(part)], share, order.subject)
        context = PadContext(task="digits", bundle="ab" * 32, round=order.round, group=order.group)
        for one in contributors:
            if one not in member.common and one != place:
                key = member.keys[one]
                member.common[one] = common_key(member.private, key, place, one, context)
        add_keystreams(words, pads(place, member.common, part, contributors))
        return to_bytes(words)

    def _masked_mean(self, place: int, part: int, contributors: list[int], weights: list[float]) -> Bytes:
        member, of = self.members[place], tuple(contributors)
        others = [member.pieces[part, one, of] for one in contributors if one != place]
        total = np.zeros(self._values(part), np.uint32)
        add_words([*others, self._masked_piece(place, part, contributors, weights)], total)
        return checked_mean(to_bytes(total), self._values(part))

    def _summed(self, member: Member, part: int, source: int | None, share: np.float32) -> Bytes:
        before = None if source is None else member.sums[part]
        return pass_on(before, member.vector[self._span(part)], share, self.order.precision)

    def _reduce(
        self, place: int, part: int, contributors: list[int], weights: list[float], source: int | None
    ) -> None:
        member = self.members[place]
        if not member.alive:
            return
        span = self._span(part)
        if self.masked:
            member.summed[part].add(tuple(contributors))
            try:
                data = self._masked_mean(place, part, contributors, weights)
            except MingaError as error:
                self.tell(place, group_events.MemberUnfit(place, str(error)))
                return
        elif source is not None:
            share = shares(weights)[contributors.index(place)]
            data = self._summed(member, part, source, share)
        else:
            pieces = [
                member.own[part] if one == place else member.pieces[part, one, ()] for one in contributors
            ]
            for one, piece in zip(contributors, pieces, strict=True):
                try:
                    decode(piece, span.stop - span.start, self.order.precision)
                except MingaError as error:
                    self.tell(place, group_events.MemberUnfit(one, str(error)))
                    return
            values = span.stop - span.start
            data = reduce_part(pieces, weights, values, self.order.precision, self.order.reducer)
        digest = digest_of(contributors, data)
        member.means[part, digest] = contributors, data
        self.tell(place, group_events.Reduced(part, contributors, digest))
