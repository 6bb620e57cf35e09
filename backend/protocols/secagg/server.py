"""One masked round at its server, as a machine without I/O (docs/decisions/0017-masked-rounds.md).

    KEYS ── all came, or time ──> SHARES ── all came, or time ──> INPUT ── the Round is over ──> (SURVIVORS)
                                                                                                      │
    from each to FAILED, where too few are left            DONE <── the sum is unmasked ── UNMASK <───┘

It stands beside a `Round` (federated.py) while that is open, and wraps it: the host asks `may_offer` before
it reports an offer to the Round, says here which updates the Round accepted, and unmasks before it makes a
version. It reports events with `now`, performs the effects they return, and calls `time_passed` at `timer()`.
What a client says again is taken again; anything else that does not fit is refused alone. What cannot be
raises IllegalEventError. Its parts: stages.py knows for whom a stage waits, client_slots.py what each client
said, neighbours.py who shares masks with whom, reveals.py what is revealed at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from backend.crypto import client_keys
from backend.crypto.round_context import Terms, base_hash, survivors_statement
from backend.errors import NotMaskedError, StaleRoundError, UpdateRefusedError
from backend.protocols.rounds.cohort_member import stranger
from backend.protocols.rounds.phases import RETURN_SECONDS, IllegalEventError
from backend.protocols.rounds.round_effects import ClientId
from backend.protocols.secagg.client_slots import ClientSlot, bad_keys, content, exclude, own
from backend.protocols.secagg.neighbours import Graph
from backend.protocols.secagg.reveals import Reveals
from backend.protocols.secagg.server_effects import (
    Effect,
    Exclude,
    FailMaskedRound,
    IgnoreReveal,
    Place,
    Tell,
    TellAll,
)
from backend.protocols.secagg.stages import ServerStage, StageWait
from backend.protocols.secagg.terms import MOST_ACTIVE
from backend.wire.masked_messages import (
    MOST_MEMBERS,
    Dealt,
    Decline,
    Keys,
    Reveal,
    Roster,
    Server,
    Shares,
    Survivors,
    Unmask,
    Vouch,
)


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
        self.stage = ServerStage.KEYS
        self.graph = Graph()
        self.alive: tuple[Place, ...] = ()
        self._server: Server = "active" if terms.server == "active" else "honest"
        self._base = base_hash(terms)
        self._seats = {client: ClientSlot(client, wishes.get(client, 0)) for client in cohort}
        self._waiting = StageWait.begun(self._seats.values(), seconds, now, grace)
        # Keys, seed hashes and identities that nobody else may have.
        self._taken: set[bytes] = set()
        self._unmask: Unmask | None = None
        self._reveals = Reveals(self.graph, ())

    # What the host asks.

    def timer(self) -> float | None:
        """When `time_passed` is due; None while only an event can change anything."""
        if (
            self.stage in (ServerStage.INPUT, ServerStage.DONE, ServerStage.FAILED)
            or self._reveals.recovering
        ):
            return None
        return self._waiting.until(self.stage)

    def may_offer(self, client: ClientId) -> UpdateRefusedError | None:
        """Why an update of `client` cannot be taken now; None if it can."""
        seat = self._seats.get(client)
        if seat is None:
            return stranger(self.terms.round)
        if self.stage not in (ServerStage.KEYS, ServerStage.SHARES, ServerStage.INPUT):
            return StaleRoundError(f"Round {self.terms.round} is not open (any more). Wait for the next one.")
        if seat.out:
            return NotMaskedError(f"You are out of masked round {self.terms.round}. Wait for the next one.")
        if not self.graph.shares_masks(client):
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
        if self.stage is not ServerStage.KEYS:
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
        if seat is None or seat.out or frame == seat.shares or self.stage is ServerStage.KEYS:
            return []
        if seat.shares is not None:
            return self._refuse(seat, NotMaskedError("You sent other shares for this round before."), now)
        wanted = len(self.graph.around[self.graph.places[client]])
        if len(frame.sealed) != wanted:
            reason = f"You sent {len(frame.sealed)} shares; you have {wanted} neighbours."
            return self._refuse(seat, NotMaskedError(reason), now)
        seat.shares = frame
        return self._settle(now)

    def vouch_arrived(self, client: ClientId, frame: Vouch, now: float) -> list[Effect]:
        """A survivor signed the list of survivors. Nobody needs more of them than the threshold."""
        seat = self._seat(client, frame.round)
        if seat is None or seat.out or self.stage not in (ServerStage.SURVIVORS, ServerStage.UNMASK):
            return []
        statement = survivors_statement(self.graph.context, self.alive)
        identity = self.graph.members[self.graph.places[client]].identity
        if not seat.accepted or not client_keys.verify(identity, frame.signature, statement):
            return self._refuse(seat, NotMaskedError("The survivors' signature is wrong."), now)
        seat.signature = frame.signature
        return self._settle(now)

    def reveal_arrived(self, client: ClientId, frame: Reveal, now: float) -> list[Effect]:
        """A survivor revealed one share of each neighbour that dealt with it, and of its own."""
        seat = self._seat(client, frame.round)
        if seat is None or seat.out or frame == seat.reveal or self.stage is ServerStage.KEYS:
            return []
        if self.stage is not ServerStage.UNMASK or not seat.accepted or seat.reveal is not None:
            return self._refuse(seat, NotMaskedError("Nobody asked for what you revealed."), now)
        place = self.graph.places[client]
        held = len(self.graph.held(place))
        if len(frame.shares) != held:
            reason = f"You revealed {len(frame.shares)} shares; you hold {held}."
            return self._refuse(seat, NotMaskedError(reason), now)
        seat.reveal = frame
        self._reveals.take(place, frame.shares)
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
        if self.stage is not ServerStage.INPUT or not self.graph.shares_masks(client):
            raise IllegalEventError(f"The update of client {client} could not be unmasked.")
        self._seats[client].accepted = True

    def inputs_over(self, now: float) -> list[Effect]:
        """The Round is over with enough updates: their sum is to be unmasked."""
        if self.stage is not ServerStage.INPUT:
            raise IllegalEventError(f"Nothing is to be unmasked while the round waits for {self.stage}.")
        seats = self._seats.values()
        self.alive = tuple(sorted(self.graph.places[seat.client] for seat in seats if seat.accepted))
        if len(self.alive) < self.terms.min_clients:
            return self._fail(f"{len(self.alive)} of at least {self.terms.min_clients} masked updates came.")
        if not self.graph.recoverable(self.alive):
            return self._fail(
                f"{len(self.alive)} of {len(self.graph.pairs)} updates came, too few to unmask them."
            )
        self._waiting.answers(now)
        if self._server == "honest":
            return self._ask_reveals(now, [], [])
        self.stage = ServerStage.SURVIVORS
        told = TellAll(
            self.graph.clients(self.alive), Survivors(round=self.terms.round, alive=list(self.alive))
        )
        return [told, *self._settle(now)]

    def unmasked(self) -> None:
        """The host unmasked the sum."""
        if self.stage is not ServerStage.UNMASK or not self._reveals.recovering:
            raise IllegalEventError("No sum was to be unmasked.")
        self.stage, self._reveals.recovering = ServerStage.DONE, False

    def mismatched(self, now: float) -> list[Effect]:
        """The shares do not fit what their owners said of their secrets; others may yet come."""
        if self.stage is not ServerStage.UNMASK or not self._reveals.recovering:
            raise IllegalEventError("No sum was to be unmasked.")
        self._reveals.recovering = False
        return self._settle(now)

    def time_passed(self, now: float) -> list[Effect]:
        """The clock reached `timer()` (or any other time: then nothing happens)."""
        return self._settle(now)

    # Inside.

    def _seat(self, client: ClientId, number: int) -> ClientSlot | None:
        """Who speaks of this round while it goes on, if it is in the cohort."""
        if number != self.terms.round or self.stage in (ServerStage.DONE, ServerStage.FAILED):
            return None
        return self._seats.get(client)

    def _settle(self, now: float) -> list[Effect]:
        """Ends the stage when all is there, nobody is left to wait for, or time is up."""
        timer = self.timer()
        if timer is None:
            return []
        over = now >= timer or self._waiting.nobody(self.stage)
        match self.stage:
            case ServerStage.KEYS if over:
                return self._end_keys(now)
            case ServerStage.SHARES if over:
                return self._end_shares()
            case ServerStage.SURVIVORS:
                return self._end_survivors(now, over)
            case ServerStage.UNMASK:
                return self._end_unmask(over)
        return []

    def _end_keys(self, now: float) -> list[Effect]:
        late = [seat for seat in self._seats.values() if seat.keys is None]
        excluded = exclude(late, "Your keys did not come in time.")
        most = MOST_ACTIVE if self._server == "active" else MOST_MEMBERS
        seats = [seat for seat in self._seats.values() if not seat.out]
        chosen = content(sorted(seats, key=lambda seat: seat.client)[:most])
        clients = {seat.client for seat in chosen}
        others = [seat for seat in seats if seat.client not in clients]
        excluded += exclude(others, f"The round has {len(chosen)} members.")
        if len(chosen) < self.terms.min_clients:
            if len(seats) >= self.terms.min_clients:
                return self._fail(f"{len(seats)} clients sent keys, and want to be among more.")
            return self._fail(f"{len(seats)} of at least {self.terms.min_clients} clients sent keys.")
        members = (member for seat in chosen if (member := seat.member()))
        self.graph = Graph.drawn(self._base, members, self._server)
        self.stage = ServerStage.SHARES
        self._waiting.shares(now)
        return [*excluded, TellAll(tuple(self.graph.places), self.graph.roster(self.terms.round))]

    def _end_shares(self) -> list[Effect]:
        """Masks are shared among those whose own and whose neighbours' shares suffice to recover them."""
        places = self.graph.places
        members = {places[seat.client]: seat for seat in self._seats.values() if not seat.out}
        shared = {place: seat.minimum for place, seat in members.items() if seat.shares}
        excluded = exclude(
            [seat for seat in members.values() if not seat.shares], "Your shares did not come in time."
        )
        going = self.graph.dealing(shared)
        excluded += exclude(
            [members[place] for place in shared if place not in going], "Too few neighbours exchanged shares."
        )
        if len(going) < self.terms.min_clients:
            return self._fail(self._too_few(len(shared)))
        self.graph.pair(going)
        self.stage = ServerStage.INPUT
        clients = self.graph.clients(self.graph.pairs)
        return [*excluded, *(Tell(client, self._dealt(client)) for client in clients)]

    def _dealt(self, client: ClientId) -> Dealt:
        return self.graph.dealt(self.terms.round, client, self._seats)

    def _too_few(self, shared: int) -> str:
        """Why so many whose shares came are not enough."""
        if shared < self.terms.min_clients:
            return f"{shared} of at least {self.terms.min_clients} clients exchanged shares."
        return f"{shared} of {len(self.graph.members)} clients exchanged shares, too few to mask among."

    def _end_survivors(self, now: float, over: bool) -> list[Effect]:
        places, threshold = self.graph.places, self.graph.degree.threshold
        signed = {places[seat.client]: seat.signature for seat in self._seats.values() if seat.signature}
        if len(signed) >= threshold:
            vouchers = sorted(signed)
            self._waiting.answers(now)
            return self._ask_reveals(now, vouchers, [signed[voucher] for voucher in vouchers])
        if not over:
            return []
        return self._fail(f"{len(signed)} of at least {threshold} clients vouched for the survivors.")

    def _ask_reveals(self, now: float, vouchers: list[Place], signatures: list[bytes]) -> list[Effect]:
        self.stage = ServerStage.UNMASK
        alive = list(self.alive)
        self._unmask = Unmask(round=self.terms.round, alive=alive, vouchers=vouchers, signatures=signatures)
        self._reveals = Reveals(self.graph, self.alive)
        return [TellAll(self.graph.clients(alive), self._unmask), *self._settle(now)]

    def _end_unmask(self, over: bool) -> list[Effect]:
        """Unmasks as soon as the shares suffice; again, with more of them, if they did not fit."""
        reveals = self._reveals
        if reveals.may_try(over):
            return [reveals.recover(self.terms.round)]
        if not over:
            return []
        if reveals.enough:
            return self._fail("What was revealed does not fit what clients said of their secrets at first.")
        return self._fail(
            f"{reveals.holders} of {len(self.alive)} clients revealed what unmasks the sum, too few."
        )

    def _missed(self, seat: ClientSlot) -> Roster | Dealt | Survivors | Unmask | None:
        match self.stage:
            case ServerStage.SHARES:
                return self.graph.roster(self.terms.round)
            case ServerStage.INPUT:
                return self._dealt(seat.client)
            case ServerStage.SURVIVORS if seat.accepted:
                return Survivors(round=self.terms.round, alive=list(self.alive))
            case ServerStage.UNMASK if seat.accepted:
                return self._unmask
        return None

    def _refuse(self, seat: ClientSlot, error: UpdateRefusedError, now: float) -> list[Effect]:
        """Nothing more of this client is used. An update that counts already stays in the sum."""
        seat.out = True
        refused: Effect = IgnoreReveal(seat.client, error) if seat.accepted else Exclude(seat.client, error)
        return [refused, *self._settle(now)]

    def _fail(self, reason: str) -> list[Effect]:
        self.stage = ServerStage.FAILED
        return [FailMaskedRound(self.terms.round, reason)]
