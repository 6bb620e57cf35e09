"""A server and the members of one masked round, and the ordered connections between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from backend.crypto.keystream import Words
from backend.crypto.unmasking import Job, unmask
from backend.errors import ShareMismatchError, UpdateRefusedError
from backend.protocols.secagg import member_events, server_effects
from backend.protocols.secagg.server import MaskedRound
from backend.protocols.secagg.server_stages import ServerStage
from backend.wire.masked_messages import ConsistencySignature, Decline, Keys, Masking, Reveal, Server, Shares
from backend.wire.messages import ClientFrame, ServerFrame, Train
from tests.support.protocols.secagg.member_host import Holder, plan, terms_of, updates

VALUES = 5
SECONDS = 60.0


def masking(server: Server = "honest", least: int = 3) -> Masking:
    """Returns a round's terms."""
    return Masking(bits=32, clip=1.0, examples=64, noise=0.0, share=1.0, min_clients=least, server=server)


@dataclass(frozen=True)
class Update:
    """A masked update in transit to the server."""

    round: int
    words: Words


@dataclass
class Line:
    """A client's connection: the frames in transit in both directions."""

    up: deque[ClientFrame | Update] = field(default_factory=deque)
    down: deque[ServerFrame] = field(default_factory=deque)
    open: bool = True
    # The round whose masked update was offered on this connection.
    offered: int = 0


class World:
    """Rounds of `count` clients in sequence, at a server that counts and sums permitted updates."""

    def __init__(
        self,
        count: int,
        terms: Masking,
        seed: int = 0,
        minima: tuple[int, ...] = (),
        values: int = VALUES,
    ) -> None:
        random = Random(seed)
        self.values = values
        self.now = 0.0
        self.terms = terms
        wishes = [*minima, *[0] * count][:count]
        self.holders = {
            client: Holder(client, update, random, least)
            for client, update, least in zip(
                (f"{place:04x}" for place in range(count)),
                updates(count, values, random),
                wishes,
                strict=True,
            )
        }
        self.lines = {client: Line() for client in self.holders}
        self._open(1)
        for client, holder in self.holders.items():
            holder.planned(self.told(client))

    def _open(self, number: int) -> None:
        """Opens a round with all connected clients."""
        self.train = plan(number, self.terms)
        self.cohort = [client for client, line in self.lines.items() if line.open]
        self.masks = MaskedRound(
            terms_of(self.train, self.values),
            self.cohort,
            SECONDS,
            self.now,
            {holder.client: holder.minimum for holder in self.holders.values()},
        )
        self.taken: dict[str, Words] = {}
        self.excluded: dict[str, UpdateRefusedError] = {}
        self.distrusted: dict[str, UpdateRefusedError] = {}
        self.failed: str | None = None
        self.false_sharers: set[str] = set()
        self.sum: Words | None = None
        self.recoveries = 0
        # The clients whose reveals reached the server before the round failed, used or not.
        self.revealed: set[str] = set()

    def next_round(self) -> None:
        """Opens another round; frames of older ones may still be in transit."""
        self._open(self.train.round + 1)
        for client in self.holders:
            self.put(client, self.told(client))

    def told(self, _client: str) -> Train:
        """Returns the plan that the server sends to a client."""
        return self.train

    # Clients.

    def work(self, client: str) -> None:
        """Completes a client's computations, sends its frames, and uploads its update if permitted."""
        holder = self.holders[client]
        while holder.outcomes:
            holder.work()
        self.flush(client)

    def flush(self, client: str) -> None:
        """Puts a client's frames onto its connection, then its masked update."""
        holder, line = self.holders[client], self.lines[client]
        if line.open:
            line.up.extend(holder.said)
            current = holder.machine.round
            if holder.masked is not None and current is not None and line.offered != current.number:
                line.offered = current.number
                line.up.append(Update(current.number, holder.masked.copy()))
        holder.said.clear()

    def hang_up(self, client: str, lost: bool = True) -> None:
        """Breaks a connection and loses its frames; or its client leaves permanently (`lost` false)."""
        self.lines[client] = Line(open=False)
        self.perform(self.masks.client_left(client, self.now, lost))

    def come_back(self, client: str) -> None:
        """Reconnects a client, which gets ready; while it owes an update it receives its plan again."""
        self.lines[client] = Line()
        self.perform(self.masks.client_ready(client))
        holder = self.holders[client]
        if client in self.cohort and client not in self.taken and client not in self.excluded:
            holder.planned(self.told(client))
        holder.handle(member_events.Welcomed())
        self.flush(client)

    # The server.

    def arrive(self, client: str) -> None:
        """Delivers a client's next frame to the server."""
        frame = self.lines[client].up.popleft()
        match frame:
            case Keys():
                self.perform(self.masks.keys_arrived(client, frame, self.now))
            case Shares():
                self.perform(self.masks.shares_arrived(client, frame, self.now))
            case ConsistencySignature():
                self.perform(self.masks.consistency_signature_arrived(client, frame, self.now))
            case Reveal():
                if frame.round == self.train.round and self.masks.stage is not ServerStage.FAILED:
                    self.revealed.add(client)
                self.perform(self.masks.reveal_arrived(client, frame, self.now))
            case Decline():
                self.perform(self.masks.declined(client, frame, self.now))
            case Update(number, words):
                self.take(client, number, words)

    def take(self, client: str, number: int, words: Words) -> None:
        """Counts a masked update at the server, if the machine permits it."""
        if number != self.train.round or self.masks.may_offer(client) is not None:
            return
        if client in self.taken:
            assert np.array_equal(self.taken[client], words)
        else:
            self.masks.input_accepted(client)
            self.taken[client] = words

    def tell(self, client: str) -> None:
        """Delivers the server's next frame to a client."""
        frame, holder = self.lines[client].down.popleft(), self.holders[client]
        if isinstance(frame, Train):
            holder.planned(frame)
        else:
            holder.hears(frame)

    def perform(self, effects: list[server_effects.Effect]) -> None:
        """Performs the effects of the server's machine."""
        for effect in effects:
            match effect:
                case server_effects.Tell(client, frame):
                    self.put(client, frame)
                case server_effects.TellAll(clients, frame):
                    for client in clients:
                        self.put(client, frame)
                case server_effects.Exclude(client, error):
                    assert client not in self.excluded
                    self.excluded[client] = error
                case server_effects.IgnoreReveal(client, error):
                    self.distrusted[client] = error
                case server_effects.Recover():
                    self.recoveries += 1
                    self._recover(effect)
                case server_effects.FailMaskedRound(reason=reason, false_sharers=clients):
                    assert self.failed is None
                    self.failed, self.false_sharers = reason, set(clients)

    def put(self, client: str, frame: ServerFrame) -> None:
        """Puts a frame of the server onto a client's connection."""
        if self.lines[client].open:
            self.lines[client].down.append(frame)

    def _recover(self, found: server_effects.Recover) -> None:
        words = np.zeros(self.values, np.uint32)
        for place in found.alive:
            words += self.taken[found.members[place].client]
        try:
            unmask(words, found, 1, _one_by_one)
        except ShareMismatchError as error:
            self.perform(self.masks.mismatched(error.owners, self.now))
        else:
            self.masks.unmasked()
            self.sum = words

    # All together.

    def settle(self) -> None:
        """Runs all clients and delivers all frames until none is in transit."""
        busy = True
        while busy:
            busy = False
            for client, line in self.lines.items():
                while line.down:
                    self.tell(client)
                    busy = True
                if self.holders[client].outcomes or self.holders[client].said:
                    busy = True
                self.work(client)
                while line.up:
                    self.arrive(client)
                    busy = True

    def wait(self) -> None:
        """Lets time pass until the server stops waiting, and delivers what follows."""
        timer = self.masks.timer()
        if timer is not None:
            self.now = max(self.now, timer)
            self.perform(self.masks.time_passed(self.now))
        self.settle()

    def end_inputs(self) -> None:
        """Ends the inputs of the round."""
        if self.masks.stage is ServerStage.MASKED_INPUT:
            self.perform(self.masks.inputs_over(self.now))

    # What must be.

    @property
    def outcome(self) -> str:
        """Returns `done`, `failed` or `open`."""
        if self.masks.stage is ServerStage.DONE:
            return "done"
        return "failed" if self.masks.stage is ServerStage.FAILED else "open"

    def plain_sum(self) -> Words:
        """Returns the correct sum of the accepted updates."""
        words = np.zeros(self.values, np.uint32)
        for client in self.taken:
            words += self.holders[client].update
        return words

    def given(self, clients: Iterable[str]) -> dict[str, tuple[set[str], set[str]]]:
        """Returns by owner which of `clients` revealed shares of its seed, and which of its mask key."""
        found: dict[str, tuple[set[str], set[str]]] = {client: (set(), set()) for client in self.holders}
        for client in clients:
            for kind, owners in enumerate(self.holders[client].gave.get(self.train.round, ())):
                for owner in owners:
                    found[owner][kind].add(client)
        return found

    def check(self) -> None:
        """Checks the sum, and that no client's two secrets can both be recovered."""
        self.check_secrets()
        if self.outcome == "done":
            assert self.sum is not None
            assert np.array_equal(self.sum, self.plain_sum())
            assert self.failed is None
        else:
            assert self.sum is None
        if self.outcome == "failed":
            assert self.failed
            self.check_closed()

    def check_secrets(self) -> None:
        """Checks that no client's two secrets could be recovered even with all clients' shares."""
        threshold = self.masks.graph.degree.threshold
        if not threshold:
            return
        for seeds, mask_keys in self.given(self.holders).values():
            assert seeds.isdisjoint(mask_keys)
            assert len(seeds) < threshold or len(mask_keys) < threshold

    def check_closed(self) -> None:
        """Checks that after a failed round the server lacks a secret that the sum needs.

        Reveals that the server rejected for other reasons are not used.
        """
        if not self.taken:
            return
        given, threshold = self.given(self.revealed - set(self.distrusted)), self.masks.graph.degree.threshold
        dealt = {self.masks.graph.members[place].client for place in self.masks.graph.pairs}
        lacking = [client for client in self.taken if len(given[client][0]) < threshold]
        lacking += [client for client in dealt - set(self.taken) if len(given[client][1]) < threshold]
        assert lacking


def _one_by_one(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job()
