"""One turn of a Byzantine round as one of its members sees it: what it has, said and waits for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from backend.crypto.statements import NOTHING_BEFORE, TurnOfRound, tossed_coin
from backend.protocols.mesh.byzantine.checks import doubted_parts, far_lengths, part_radius, wrong_checks
from backend.protocols.mesh.byzantine.drawn_work import drawn_order
from backend.protocols.mesh.byzantine.exchange import StatementExchange
from backend.protocols.mesh.byzantine.roles import TurnRoles
from backend.protocols.mesh.byzantine.round_events import MeanRemade, MeansChecked, OuterStepped
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.protocols.mesh.byzantine.turn_log import PHASES, TurnLog, TurnPhase
from backend.protocols.mesh.byzantine.turn_statements import TurnStatements
from backend.wire.byzantine_bodies import SeenWork
from backend.wire.byzantine_messages import ByzantineTerms

# How many newcomers a member names in a turn.
MOST_SEEN = 128


@dataclass
class Turn:
    """The turn of `client`, which is in `phase` until `due`. Owned by its machine.

    `bounds` gives the limits of a number of parts of the vector. `asked` are effects that the host answers.
    """

    client: str
    roles: TurnRoles
    log: TurnLog
    radius: float
    bounds: Callable[[int], list[int]]
    coin: bytes
    salt: bytes
    due: float
    phase: TurnPhase = TurnPhase.COMMIT
    last: bytes = NOTHING_BEFORE
    said: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    # What the host answered.
    pieces: list[bytes] | None = None
    mean: bytes | None = None
    checked: MeansChecked | None = None
    stepped: OuterStepped | None = None
    # The state that this member computed.
    next: AgreedState | None = None
    majority_at: float | None = None
    exchange: StatementExchange | None = None
    exchanges: int = 0
    # Who was given time in a phase, and the parts whose means were found right, or are to be made again.
    excused: set[tuple[TurnPhase, str]] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)
    deferred: set[int] = field(default_factory=set)
    # The parts that this member made again by itself: those that are right, and those where something is not.
    found_right: set[int] = field(default_factory=set)
    found_wrong: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.statements = TurnStatements(self.log, self.roles)
        # What did not count in an exchange, and is heard after it.
        self.early = TurnLog(self.log.turn, self.log.identities())

    @property
    def turn(self) -> TurnOfRound:
        """What its statements are bound to."""
        return self.log.turn

    @property
    def works(self) -> bool:
        """Whether this member works, and owns a part; validators do not."""
        return self.client in self.roles.workers

    @property
    def part(self) -> int:
        """The number of the part that this member owns. Raises ValueError for a validator."""
        return self.roles.workers.index(self.client)

    def hear_early(self) -> None:
        """Takes what was said during an exchange and did not count in it."""
        for statement in self.early.statements():
            self.log.add(statement)
        self.early = TurnLog(self.log.turn, self.log.identities())

    def others(self) -> tuple[str, ...]:
        """Returns the other active clients."""
        return tuple(client for client in self.roles.active if client != self.client)

    def keepers(self) -> list[str]:
        """Returns who gets each of this member's pieces: the part's owner, and of its own the next worker.

        So validators can see all of its work when it is gone.
        """
        workers = list(self.roles.workers)
        workers[self.part] = workers[(self.part + 1) % len(workers)]
        return workers

    @cached_property
    def sizes(self) -> list[int]:
        """How many values each part has."""
        return [end - start for start, end in pairwise(self.bounds(len(self.roles.workers)))]

    def part_radius(self, part: int) -> float:
        """Returns the radius of a part, 0 before the first one was measured."""
        return part_radius(self.radius, self.sizes[part])

    def pieces_of(self, part: int) -> tuple[bytes, ...]:
        """Returns the digests of all pieces of a part, by worker, once all committed to theirs."""
        pieces = self.statements.pieces()
        return tuple(pieces[worker][part] for worker in self.roles.workers)

    def means(self) -> tuple[bytes, ...]:
        """Returns the digests of all means, by part, once all owners committed to theirs."""
        means = self.statements.means()
        return tuple(means[owner] for owner in self.roles.workers)

    def tossed(self) -> bytes:
        """Returns the coin, once all revealed their parts of it."""
        return tossed_coin(self.statements.coins())

    def seen_newcomers(self, state: AgreedState, clients: Mapping[str, bytes]) -> list[SeenWork]:
        """Returns the work of clients without a seat that this member heard of.

        The coin of the last state draws which ones, where there are too many.
        """
        seats = {seat.client for seat in state.membership.seats}
        heard = [client for client in self.log.said(TurnPhase.COMMIT) if client not in seats]
        return [
            SeenWork(client, clients[client], self.log.digest_of(TurnPhase.COMMIT, client))
            for client in sorted(drawn_order(state.coin, "seen", heard)[:MOST_SEEN])
        ]

    def lacks(self, available: Collection[bytes]) -> list[bytes]:
        """Returns the digests of bytes that this member waits for in its phase, if it holds these."""
        needed: tuple[bytes, ...] = ()
        if self.phase is TurnPhase.MADE and self.works and self.mean is None:
            needed = self.pieces_of(self.part)
        elif self.phase in (TurnPhase.CHECK, TurnPhase.VERDICT):
            needed = self.means()
        return sorted({digest for digest in needed if digest not in available})

    def doubted(self, terms: ByzantineTerms) -> list[int]:
        """Returns the parts whose mean this member doubts, and nobody has made again.

        All numbers are known.
        """
        workers, checks = self.roles.workers, self.statements.checks()
        doubted = set[int]()
        if self.radius:
            radii = [self.part_radius(part) for part in range(len(workers))]
            said = [checks[one] for one in workers]
            farthest = far_lengths(said, self.sizes, terms, self.radius)
            doubted |= set(doubted_parts(said, radii, farthest))
        if self.is_misjudged():
            doubted.add(self.part)
        return sorted(doubted - self.settled - self.found_right)

    def is_misjudged(self) -> bool:
        """Whether somebody's numbers of this member's part are wrong, and nobody has made its mean again."""
        if self.checked is None or self.part in self.settled:
            return False
        workers = self.roles.workers
        products = dict(zip(workers, self.checked.own_products, strict=True))
        lengths = dict(zip(workers, self.checked.own_lengths, strict=True))
        return bool(wrong_checks(self.statements.checks(), self.part, products, lengths))

    def is_wrong(self) -> bool:
        """Whether this member found a mean wrong, or numbers about one, and nobody has settled that."""
        return self.is_misjudged() or not self.found_wrong.issubset(self.settled)

    def remade(self, event: MeanRemade) -> None:
        """Takes a doubted mean that this member made again before anybody called for an exchange."""
        is_right = self.wrong(event) == ([], False)
        (self.found_right if is_right else self.found_wrong).add(event.part)

    def wrong(self, remade: MeanRemade) -> tuple[list[int], bool]:
        """Returns the places of workers whose numbers of a part are wrong, and whether its mean is.

        Numbers about a wrong mean are its owner's fault alone.
        """
        workers = self.roles.workers
        if self.means()[remade.part] != remade.digest:
            return [], True
        products = dict(zip(workers, remade.products, strict=True))
        lengths = dict(zip(workers, remade.lengths, strict=True))
        wrong = wrong_checks(self.statements.checks(), remade.part, products, lengths)
        return [workers.index(client) for client in wrong], False

    def follows(self, phase: str) -> bytes:
        """Returns what a statement that this member says now is bound to.

        In the phases after the first it is all that was said in the one before, else its own last statement.
        """
        heard = self.log.heard_before(TurnPhase(phase), self.roles.active) if phase in PHASES else None
        return self.last if heard is None else heard

    def majority(self) -> bytes | None:
        """Returns a state that more than half signed; None if there is none."""
        states = self.statements.states()
        return next((one for one, count in states.items() if self.roles.is_majority(count)), None)

    def progress(self) -> tuple[object, ...]:
        """Returns what changes whenever something more may follow."""
        return self.turn, self.phase, len(self.said), self.exchanges, self.exchange is None
