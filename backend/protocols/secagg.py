"""One masked round at its server, as a machine without I/O (docs/decisions/0017-masked-rounds.md).

    KEYS ── all came, or time ──> SHARES ── all came, or time ──> INPUT ── the Round is over ──> (SURVIVORS)
                                                                                                      │
    from each to FAILED, where too few are left            DONE <── the sum is unmasked ── UNMASK <───┘

It stands beside a `Round` (round.py) while that is open, and wraps it: the host asks `may_offer` before it
reports an offer to the Round, says here which updates the Round accepted, and unmasks before it makes a
version. It reports events with `now`, performs the effects they return, and calls `time_passed` at `timer()`.
What a client says again is taken again; anything else that does not fit is refused alone. What cannot be
raises IllegalEventError.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from backend.crypto import keys as crypto
from backend.crypto.context import (
    Terms,
    base_hash,
    context_hash,
    ring,
    roster_hash,
    survivors_statement,
)
from backend.crypto.shamir import valid
from backend.errors import NotMaskedError, StaleRoundError, UpdateRefusedError
from backend.protocols.degrees import MOST_ACTIVE, Degree, degree, neighbours
from backend.protocols.effects import ClientId
from backend.protocols.member import stranger
from backend.protocols.phases import RETURN_SECONDS, IllegalEventError, waits_until
from backend.protocols.secagg_effects import (
    Distrust,
    Effect,
    Exclude,
    Fail,
    Place,
    Recover,
    Tell,
    TellAll,
)
from backend.protocols.secagg_seats import Seat, bad_keys, by_owner, content, dealing, own, recoverable
from backend.wire.masked import (
    MOST_MEMBERS,
    Dealt,
    Decline,
    Keys,
    Member,
    Reveal,
    Roster,
    Server,
    Shares,
    Survivors,
    Unmask,
    Vouch,
)

# Keys and shares may each take this part of the round's time, and no more than so many seconds.
EXCHANGE_PART, EXCHANGE_SECONDS = 0.25, 20.0
# Vouching and revealing are answers of a few bytes to what everybody is told at once.
ANSWER_SECONDS = 10.0


class Stage(StrEnum):
    """What the round waits for."""

    KEYS = "keys"
    SHARES = "shares"
    INPUT = "input"
    SURVIVORS = "survivors"
    UNMASK = "unmask"
    DONE = "done"
    FAILED = "failed"


class MaskedRound:
    """The masking of one open round of `cohort`, which lasts `seconds` from `now` on.

    `minima` says among how many clients each wants to be at least, where that is more than the task's.
    One that lost its connection may come back within `grace` seconds, and no stage is over before that.
    """

    def __init__(
        self,
        terms: Terms,
        cohort: Iterable[ClientId],
        seconds: float,
        now: float,
        minima: Mapping[ClientId, int] | None = None,
        grace: float = RETURN_SECONDS,
    ) -> None:
        wishes = minima or {}
        self.terms = terms
        self.stage = Stage.KEYS
        self.members: tuple[Member, ...] = ()
        self.context = b""
        self.degree = Degree(0, 0)
        self.alive: tuple[Place, ...] = ()
        self._server: Server = "active" if terms.server == "active" else "honest"
        self._base = base_hash(terms)
        self._seats = {client: Seat(client, wishes.get(client, 0)) for client in cohort}
        self._grace = grace
        self._patience = min(max(EXCHANGE_SECONDS, grace), seconds * EXCHANGE_PART)
        self._until = now + self._patience
        # Keys, seed hashes and identities that nobody else may have.
        self._taken: set[bytes] = set()
        self._places: dict[ClientId, Place] = {}
        self._around: list[list[Place]] = []
        # Neighbours whose shares came, by place; nothing for one whose own did not come.
        self.pairs: dict[Place, list[Place]] = {}
        self._unmask: Unmask | None = None
        self._revealed: dict[Place, dict[Place, bytes]] = {}
        self._recovering = False
        self._tried = 0
        # Seats that may owe something in the stage for which they were listed.
        self._asked: Stage | None = None
        self._owing: list[Seat] = []

    # What the host asks.

    def timer(self) -> float | None:
        """When `time_passed` is due; None while only an event can change anything."""
        if self.stage in (Stage.INPUT, Stage.DONE, Stage.FAILED) or self._recovering:
            return None
        return waits_until(self._until, (seat.lost_at for seat in self._awaited()), self._grace)

    def may_offer(self, client: ClientId) -> UpdateRefusedError | None:
        """Why an update of `client` cannot be taken now; None if it can."""
        seat = self._seats.get(client)
        if seat is None:
            return stranger(self.terms.round)
        if self.stage not in (Stage.KEYS, Stage.SHARES, Stage.INPUT):
            return StaleRoundError(f"Round {self.terms.round} is not open (any more). Wait for the next one.")
        if seat.out:
            return NotMaskedError(f"You are out of masked round {self.terms.round}. Wait for the next one.")
        if self._places.get(client) not in self.pairs:
            return NotMaskedError("Shares are exchanged before an update is masked; it cannot be unmasked.")
        return None

    # What clients do.

    def keys_arrived(self, client: ClientId, frame: Keys, now: float) -> list[Effect]:
        """A client sent its keys. Those of another round, or after time is up, are passed over."""
        seat = self._seat(client, frame.round)
        if seat is None or seat.out or frame == seat.keys:
            return []
        if seat.keys is not None:
            return self._refuse(seat, NotMaskedError("You sent other keys for this round before."), now)
        if self.stage is not Stage.KEYS:
            return []
        if reason := bad_keys(frame, client, self._base, self._taken):
            return self._refuse(seat, NotMaskedError(reason), now)
        seat.keys = frame
        self._taken |= own(frame)
        return self._settle(now)

    def shares_arrived(self, client: ClientId, frame: Shares, now: float) -> list[Effect]:
        """A member sent its sealed shares."""
        seat = self._seat(client, frame.round)
        # A server that was killed hears again what was said to it before: too early, for it.
        if seat is None or seat.out or frame == seat.shares or self.stage is Stage.KEYS:
            return []
        if seat.shares is not None:
            return self._refuse(seat, NotMaskedError("You sent other shares for this round before."), now)
        wanted = len(self._around[self._places[client]])
        if len(frame.sealed) != wanted:
            reason = f"You sent {len(frame.sealed)} shares; you have {wanted} neighbours."
            return self._refuse(seat, NotMaskedError(reason), now)
        seat.shares = frame
        return self._settle(now)

    def vouch_arrived(self, client: ClientId, frame: Vouch, now: float) -> list[Effect]:
        """A survivor signed the list of survivors. Nobody needs more of them than the threshold."""
        seat = self._seat(client, frame.round)
        if seat is None or seat.out or self.stage not in (Stage.SURVIVORS, Stage.UNMASK):
            return []
        statement = survivors_statement(self.context, self.alive)
        identity = self.members[self._places[client]].identity
        if not seat.accepted or not crypto.verify(identity, frame.signature, statement):
            return self._refuse(seat, NotMaskedError("The survivors' signature is wrong."), now)
        seat.signature = frame.signature
        return self._settle(now)

    def reveal_arrived(self, client: ClientId, frame: Reveal, now: float) -> list[Effect]:
        """A survivor revealed one share of each neighbour that dealt with it, and of its own."""
        seat = self._seat(client, frame.round)
        if seat is None or seat.out or frame == seat.reveal or self.stage is Stage.KEYS:
            return []
        if self.stage is not Stage.UNMASK or not seat.accepted or seat.reveal is not None:
            return self._refuse(seat, NotMaskedError("Nobody asked for what you revealed."), now)
        place = self._places[client]
        held = sorted([*self.pairs[place], place])
        if len(frame.shares) != len(held):
            reason = f"You revealed {len(frame.shares)} shares; you hold {len(held)}."
            return self._refuse(seat, NotMaskedError(reason), now)
        seat.reveal = frame
        for owner, share in zip(held, frame.shares, strict=True):
            # Of shares that could not be opened a member reveals what is no share.
            if valid(share):
                self._revealed[owner][place] = share
        return self._settle(now)

    def declined(self, client: ClientId, frame: Decline, now: float) -> list[Effect]:
        """A client takes no further part. An update of it that counts already stays in the sum."""
        seat = self._seat(client, frame.round)
        if seat is None or seat.out:
            return []
        seat.out = True
        error = NotMaskedError(f"You gave masked round {frame.round} up. Wait for the next one.")
        excluded: list[Effect] = [] if seat.accepted else [Exclude(client, error)]
        return [*excluded, *self._settle(now)]

    def client_ready(self, client: ClientId) -> list[Effect]:
        """A client came back: it is told again what it may have missed."""
        seat = self._seats.get(client)
        if seat is None or seat.out:
            return []
        seat.lost_at = None
        frame = self._missed(seat)
        return [Tell(client, frame)] if frame else []

    def client_left(self, client: ClientId, now: float, lost: bool) -> list[Effect]:
        """A client stopped, or its connection was lost and it may come back."""
        seat = self._seats.get(client)
        if seat is None:
            return []
        seat.lost_at, seat.out = now, seat.out or not lost
        return self._settle(now)

    # What the Round and the host do.

    def input_accepted(self, client: ClientId) -> None:
        """The Round counts the masked update of `client`."""
        if self.stage is not Stage.INPUT or self._places.get(client) not in self.pairs:
            raise IllegalEventError(f"The update of client {client} could not be unmasked.")
        self._seats[client].accepted = True

    def inputs_over(self, now: float) -> list[Effect]:
        """The Round is over with enough updates: their sum is to be unmasked."""
        if self.stage is not Stage.INPUT:
            raise IllegalEventError(f"Nothing is to be unmasked while the round waits for {self.stage}.")
        seats = self._seats.values()
        self.alive = tuple(sorted(self._places[seat.client] for seat in seats if seat.accepted))
        if len(self.alive) < self.terms.min_clients:
            return self._fail(f"{len(self.alive)} of at least {self.terms.min_clients} masked updates came.")
        if not recoverable(self.pairs, self.alive, self._around_dealt(), self.degree.threshold):
            return self._fail(f"{len(self.alive)} of {len(self.pairs)} updates came, too few to unmask them.")
        self._until = now + max(ANSWER_SECONDS, self._grace)
        if self._server == "honest":
            return self._ask_reveals(now, [], [])
        self.stage = Stage.SURVIVORS
        told = TellAll(self._clients(self.alive), Survivors(round=self.terms.round, alive=list(self.alive)))
        return [told, *self._settle(now)]

    def unmasked(self) -> None:
        """The host unmasked the sum."""
        if self.stage is not Stage.UNMASK or not self._recovering:
            raise IllegalEventError("No sum was to be unmasked.")
        self.stage, self._recovering = Stage.DONE, False

    def mismatched(self, now: float) -> list[Effect]:
        """The shares do not fit what their owners said of their secrets; others may yet come."""
        if self.stage is not Stage.UNMASK or not self._recovering:
            raise IllegalEventError("No sum was to be unmasked.")
        self._recovering = False
        return self._settle(now)

    def time_passed(self, now: float) -> list[Effect]:
        """The clock reached `timer()` (or any other time: then nothing happens)."""
        return self._settle(now)

    # Inside.

    def _seat(self, client: ClientId, number: int) -> Seat | None:
        """Who speaks of this round while it goes on, if it is in the cohort."""
        if number != self.terms.round or self.stage in (Stage.DONE, Stage.FAILED):
            return None
        return self._seats.get(client)

    def _clients(self, places: Iterable[Place]) -> tuple[ClientId, ...]:
        return tuple(self.members[place].client for place in places)

    def _awaited(self) -> Iterator[Seat]:
        """Who still owes what the stage asks for.

        Who owes it no more never will again: from the last one on they are let go for good, so that a stage
        costs as many looks as there are seats, and not their square.
        """
        if self._asked is not self.stage:
            self._asked, self._owing = self.stage, list(self._seats.values())
        while self._owing and not self._owes(self._owing[-1]):
            self._owing.pop()
        return (seat for seat in reversed(self._owing) if self._owes(seat))

    def _owes(self, seat: Seat) -> bool:
        if seat.out:
            return False
        match self.stage:
            case Stage.KEYS:
                return seat.keys is None
            case Stage.SHARES:
                return seat.shares is None
            case Stage.SURVIVORS:
                return seat.accepted and seat.signature is None
            case Stage.UNMASK:
                return seat.accepted and seat.reveal is None
        return False

    def _settle(self, now: float) -> list[Effect]:
        """Ends the stage when all is there, nobody is left to wait for, or time is up."""
        timer = self.timer()
        if timer is None:
            return []
        over = now >= timer or next(self._awaited(), None) is None
        match self.stage:
            case Stage.KEYS if over:
                return self._end_keys(now)
            case Stage.SHARES if over:
                return self._end_shares()
            case Stage.SURVIVORS:
                return self._end_survivors(now, over)
            case Stage.UNMASK:
                return self._end_unmask(over)
        return []

    def _end_keys(self, now: float) -> list[Effect]:
        late = [seat for seat in self._seats.values() if seat.keys is None]
        excluded = self._exclude(late, "Your keys did not come in time.")
        most = MOST_ACTIVE if self._server == "active" else MOST_MEMBERS
        seats = [seat for seat in self._seats.values() if not seat.out]
        chosen = content(sorted(seats, key=lambda seat: seat.client)[:most])
        clients = {seat.client for seat in chosen}
        others = [seat for seat in seats if seat.client not in clients]
        excluded += self._exclude(others, f"The round has {len(chosen)} members.")
        if len(chosen) < self.terms.min_clients:
            if len(seats) >= self.terms.min_clients:
                return self._fail(f"{len(seats)} clients sent keys, and want to be among more.")
            return self._fail(f"{len(seats)} of at least {self.terms.min_clients} clients sent keys.")
        self.members = tuple(member for seat in chosen if (member := seat.member()))
        self._places = {seat.client: place for place, seat in enumerate(chosen)}
        self._draw_graph()
        self.stage, self._until = Stage.SHARES, now + self._patience
        return [*excluded, TellAll(tuple(self._places), self._roster())]

    def _draw_graph(self) -> None:
        """The context, and who is whose neighbour; every member works them out for itself."""
        self.degree = degree(len(self.members), self._server)
        roster = roster_hash(self._base, self.members)
        self.context = context_hash(self._base, roster, len(self.members), *self.degree)
        order = ring(self.context, [member.client for member in self.members])
        self._around = neighbours(order, self.degree.neighbours)

    def _roster(self) -> Roster:
        return Roster(round=self.terms.round, members=list(self.members))

    def _end_shares(self) -> list[Effect]:
        """Masks are shared among those whose own and whose neighbours' shares suffice to recover them."""
        members = {self._places[seat.client]: seat for seat in self._seats.values() if not seat.out}
        shared = [place for place, seat in members.items() if seat.shares]
        excluded = self._exclude(
            [seat for seat in members.values() if not seat.shares], "Your shares did not come in time."
        )
        going = dealing(
            shared,
            self._around,
            self.degree.threshold,
            lambda place, count: members[place].minimum <= count,
        )
        excluded += self._exclude(
            [members[place] for place in shared if place not in going], "Too few neighbours exchanged shares."
        )
        if len(going) < self.terms.min_clients:
            return self._fail(self._too_few(len(shared)))
        self.pairs = {
            place: [other for other in self._around[place] if other in going] for place in sorted(going)
        }
        self.stage = Stage.INPUT
        clients = self._clients(self.pairs)
        return [*excluded, *(Tell(client, self._dealt(client)) for client in clients)]

    def _too_few(self, shared: int) -> str:
        """Why so many whose shares came are not enough."""
        if shared < self.terms.min_clients:
            return f"{shared} of at least {self.terms.min_clients} clients exchanged shares."
        return f"{shared} of {len(self.members)} clients exchanged shares, too few to mask among."

    def _dealt(self, client: ClientId) -> Dealt:
        place = self._places[client]
        senders = self.pairs[place]
        sealed = []
        for sender in senders:
            shares = self._seats[self.members[sender].client].shares
            sealed.append(shares.sealed[bisect_left(self._around[sender], place)] if shares else b"")
        return Dealt(round=self.terms.round, senders=senders, sealed=sealed)

    def _end_survivors(self, now: float, over: bool) -> list[Effect]:
        signed = {
            self._places[seat.client]: seat.signature for seat in self._seats.values() if seat.signature
        }
        if len(signed) >= self.degree.threshold:
            vouchers = sorted(signed)
            self._until = now + max(ANSWER_SECONDS, self._grace)
            return self._ask_reveals(now, vouchers, [signed[voucher] for voucher in vouchers])
        if not over:
            return []
        threshold = self.degree.threshold
        return self._fail(f"{len(signed)} of at least {threshold} clients vouched for the survivors.")

    def _ask_reveals(self, now: float, vouchers: list[Place], signatures: list[bytes]) -> list[Effect]:
        self.stage = Stage.UNMASK
        alive = list(self.alive)
        self._unmask = Unmask(round=self.terms.round, alive=alive, vouchers=vouchers, signatures=signatures)
        self._revealed = {place: {} for place in self.pairs}
        return [TellAll(self._clients(alive), self._unmask), *self._settle(now)]

    def _end_unmask(self, over: bool) -> list[Effect]:
        """Unmasks as soon as the shares suffice; again, with more of them, if they did not fit."""
        enough = all(len(shares) >= self.degree.threshold for shares in self._revealed.values())
        if not enough and not over:
            return []
        held = sum(seat.reveal is not None for seat in self._seats.values())
        if enough and (not self._tried or (over and held > self._tried)):
            self._tried, self._recovering = held, True
            return [self._recover()]
        if not over:
            return []
        if enough:
            return self._fail("What was revealed does not fit what clients said of their secrets at first.")
        return self._fail(f"{held} of {len(self.alive)} clients revealed what unmasks the sum, too few.")

    def _recover(self) -> Recover:
        dead = [place for place in self.pairs if place not in self.alive]
        return Recover(
            round=self.terms.round,
            context=self.context,
            members=self.members,
            threshold=self.degree.threshold,
            pairs=tuple(tuple(self.pairs.get(place, ())) for place in range(len(self.members))),
            alive=self.alive,
            seeds=by_owner(self.alive, self._revealed),
            mask_keys=by_owner(dead, self._revealed),
        )

    def _around_dealt(self) -> list[list[Place]]:
        return [self.pairs.get(place, []) for place in range(len(self.members))]

    def _missed(self, seat: Seat) -> Roster | Dealt | Survivors | Unmask | None:
        match self.stage:
            case Stage.SHARES:
                return self._roster()
            case Stage.INPUT:
                return self._dealt(seat.client)
            case Stage.SURVIVORS if seat.accepted:
                return Survivors(round=self.terms.round, alive=list(self.alive))
            case Stage.UNMASK if seat.accepted:
                return self._unmask
        return None

    def _refuse(self, seat: Seat, error: UpdateRefusedError, now: float) -> list[Effect]:
        """Nothing more of this client is used. An update that counts already stays in the sum."""
        seat.out = True
        refused: Effect = Distrust(seat.client, error) if seat.accepted else Exclude(seat.client, error)
        return [refused, *self._settle(now)]

    def _exclude(self, seats: Iterable[Seat], reason: str) -> list[Effect]:
        excluded: list[Effect] = []
        for seat in seats:
            if not seat.out:
                seat.out = True
                excluded.append(Exclude(seat.client, NotMaskedError(f"{reason} Wait for the next round.")))
        return excluded

    def _fail(self, reason: str) -> list[Effect]:
        self.stage = Stage.FAILED
        return [Fail(self.terms.round, reason)]
