"""A server that lies, and the secrets that it could recover from the clients' messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from random import Random
from typing import TypeVar

from msgspec.structs import replace

from backend.protocols.secagg.member import MemberStage
from backend.protocols.secagg.server_stages import ServerStage
from backend.wire.masked_messages import Dealt, Reveal, Roster, Server, Survivors, Unmask
from backend.wire.messages import ServerFrame
from tests.support.protocols.secagg.world import World, masking

SERVERS: list[Server] = ["honest", "active"]
FrameT = TypeVar("FrameT")
Lie = Callable[[str, ServerFrame], ServerFrame | None]


class Lying(World):
    """A world whose server sends `lie(client, frame)` in place of a frame; nothing where it is None."""

    def __init__(
        self, count: int = 5, server: Server = "active", lie: Lie | None = None, least: int = 3
    ) -> None:
        self.lie = lie
        super().__init__(count, masking(server, least))

    def put(self, client: str, frame: ServerFrame) -> None:
        """Overrides World.put."""
        said = self.lie(client, frame) if self.lie else frame
        if said is not None:
            super().put(client, said)

    def play(self) -> None:
        """Plays the round as far as it gets."""
        self.settle()
        while self.outcome == "open":
            before = (self.masks.stage, self.now)
            if self.masks.stage is ServerStage.MASKED_INPUT and not self.taken:
                break
            self.end_inputs()
            self.settle()
            self.wait()
            if (self.masks.stage, self.now) == before:
                break

    @property
    def refusing(self) -> list[str]:
        """Returns the clients that gave up the round."""
        return [client for client, one in self.holders.items() if one.machine.stage is MemberStage.REFUSED]

    @property
    def revealing(self) -> list[str]:
        """Returns the clients that revealed a share."""
        return [client for client, holder in self.holders.items() if holder.gave]

    def readable(self) -> list[int]:
        """Returns the sizes of the groups whose sums the server could read with all clients' shares.

        Masks of a pair remain as long as neither's mask key can be recovered: then the updates of both can be
        read together only, and only with both seeds.
        """
        threshold, given = self.masks.graph.degree.threshold, self.given(self.holders)
        seeds = {client for client, (shares, _) in given.items() if len(shares) >= threshold > 0}
        keys = {client for client, (_, shares) in given.items() if len(shares) >= threshold > 0}
        masked = {client: holder.mixed.get(self.train.round) for client, holder in self.holders.items()}
        tied: dict[str, set[str]] = {client: {client} for client in self.holders}
        for client, others in masked.items():
            for other in (others or set()) - keys:
                if client not in keys:
                    whole = tied[client] | tied[other]
                    tied.update(dict.fromkeys(whole, whole))
        groups = {frozenset(group) for group in tied.values()}
        return [
            len(group) for group in groups if group <= seeds and all(masked[one] is not None for one in group)
        ]


class Liar:
    """Plays one seed of a server that sends anything in any order, with all signatures it received."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(f"lie {seed}")
        count = random.choice((4, 5, 6, 7, 9))
        server: Server = random.choice(("honest", "active"))
        self.active = server == "active"
        self.least = random.randint(3, count)
        self.world = Lying(count, server, None, self.least)
        self.lists = [self._list(count) for _ in range(random.choice((1, 2, 2, 3)))]
        self.signed: dict[tuple[int, ...], dict[int, bytes]] = defaultdict(dict)
        self.tampers = random.random() < 0.3
        self.hasty = random.random() < 0.3

    def _list(self, count: int) -> list[int]:
        """Returns a list of alleged survivors: all clients, most, or any."""
        fewest = self.random.choice((count, 2 * count // 3 + 1, 0))
        return sorted(self.random.sample(range(count), self.random.randint(fewest, count)))

    def play(self) -> Lying:
        """Returns the world after the lies; only sums of enough clients may be readable."""
        if self.tampers:
            self.world.lie = self._tamper
        self.world.settle()
        self.world.lie = None
        for _ in range(30 * len(self.world.holders)):
            client = self.random.choice(list(self.world.holders))
            holder = self.world.holders[client]
            self.random.choice((self._name, self._ask, self._ask))(client)
            while holder.outcomes:
                holder.work()
            current = holder.machine.round
            if current and current.consistency_signature and current.alive is not None:
                self.signed[tuple(current.alive)][current.place] = current.consistency_signature.signature
        self.world.check_secrets()
        if self.active or len(self.lists) == 1:
            assert all(clients >= self.least for clients in self.world.readable())
        return self.world

    def _name(self, client: str) -> None:
        first, *_ = self.lists
        alive = first if self.random.random() < 0.8 else self.random.choice(self.lists)
        self.world.holders[client].hears(Survivors(round=1, alive=alive))

    def _ask(self, client: str) -> None:
        alive = self.random.choice(self.lists)
        signed = {place: one for place, one in sorted(self.signed[tuple(alive)].items()) if place in alive}
        if self.random.random() < 0.03:
            signed = {place: self.random.randbytes(64) for place in alive}
        elif self.active and not self.hasty and len(signed) < self.world.masks.graph.degree.threshold:
            # No client would answer, so the liar asks for more signatures instead.
            return
        self.world.holders[client].hears(
            Unmask(round=1, alive=alive, vouchers=list(signed), signatures=list(signed.values()))
        )

    def _tamper(self, _client: str, frame: ServerFrame) -> ServerFrame | None:
        """Falsifies a roster or the shares now and then."""
        if self.random.random() < 0.8:
            return frame
        match frame:
            case Roster(members=members):
                kept = [one for one in members if self.random.random() < 0.8]
                return replace(frame, members=self.random.choice((kept, members[::-1])))
            case Dealt(senders=senders, sealed=sealed):
                shorter = replace(frame, senders=senders[1:], sealed=sealed[1:])
                return self.random.choice((shorter, replace(frame, sealed=sealed[::-1])))
        return frame


def to_all(tag: type[FrameT], change: Callable[[FrameT], ServerFrame]) -> Lie:
    """Returns a lie that replaces one kind of frame."""
    return lambda _client, frame: change(frame) if isinstance(frame, tag) else frame


def at_unmask(server: Server, count: int = 5) -> tuple[Lying, Unmask]:
    """Returns a round in which only `unmask` is missing, and that frame."""
    held: list[Unmask] = []

    def keep(_client: str, frame: ServerFrame) -> ServerFrame | None:
        if isinstance(frame, Unmask):
            held.append(frame)
            return None
        return frame

    world = Lying(count, server, keep)
    world.settle()
    world.end_inputs()
    world.settle()
    return world, held[0]


def ask(world: Lying, client: str, frame: ServerFrame) -> list[Reveal]:
    """Returns a client's answer."""
    holder = world.holders[client]
    holder.hears(frame)
    while holder.outcomes:
        holder.work()
    said = [one for one in holder.said if isinstance(one, Reveal)]
    holder.said.clear()
    return said
