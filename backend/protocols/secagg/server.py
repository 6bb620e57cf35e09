"""The server's state machine of one masked round, without I/O (Bonawitz et al. 2017, fig. 4).

It accompanies an open `Round` (rounds/federated.py): the host asks `may_offer` before it reports an offer to
the Round, reports the updates that the Round accepted to this machine, and unmasks before it makes a version.
It reports events with `now`, performs the effects they return, and calls `time_passed` at `timer()`. A
repeated frame changes nothing; a frame that conflicts excludes its client only. The table of transitions is
in server_stages.py, the clients' frames and shares in client_slots.py; docs/reference/masked-rounds.md has
the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from backend.crypto import client_keys
from backend.crypto.round_context import Terms, base_hash, survivors_statement
from backend.errors import NotMaskedError, StaleRoundError, UpdateRefusedError
from backend.protocols.rounds.cohort_member import not_selected
from backend.protocols.rounds.phases import RETURN_SECONDS, IllegalEventError
from backend.protocols.rounds.round_effects import ClientId
from backend.protocols.secagg.client_slots import (
    ClientSlot,
    RevealedShares,
    ShareGraph,
    exclude,
    keys_refusal,
    largest_group,
    unique_values,
)
from backend.protocols.secagg.server_effects import (
    Effect,
    Exclude,
    FailMaskedRound,
    IgnoreReveal,
    Place,
    Tell,
    TellAll,
)
from backend.protocols.secagg.server_sentences import (
    declined_sentence,
    not_unmasked,
    too_few_keys,
    too_few_shares,
)
from backend.protocols.secagg.server_stages import TRANSITIONS, ServerEvent, ServerStage, StageWait
from backend.protocols.secagg.terms import MOST_ACTIVE, signers
from backend.wire.masked_messages import (
    MOST_MEMBERS,
    ConsistencySignature,
    Dealt,
    Decline,
    Keys,
    Reveal,
    Roster,
    Server,
    Shares,
    Survivors,
    Unmask,
)


class MaskedRound:
    """The masking of one open round of `cohort`, which lasts `seconds` from `now`.

    `minima` has the minimum number of clients that a client requires, if it is more than the task's. A client
    that lost its connection may come back within `grace` seconds, and no stage ends before that.
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
        self.terms = terms
        self.stage = ServerStage.ADVERTISE_KEYS
        self.graph = ShareGraph()
        self.alive: tuple[Place, ...] = ()
        self._server: Server = "active" if terms.server == "active" else "honest"
        self._base = base_hash(terms)
        self._slots = {client: ClientSlot(client, (minima or {}).get(client, 0)) for client in cohort}
        self._wait = StageWait.for_keys(self._slots.values(), seconds, now, grace)
        # Keys, seed hashes and identities in use, which no other client may have.
        self._taken: set[bytes] = set()
        # Once members were asked to reveal shares, which each does once for a version.
        self.unmask_frame: Unmask | None = None
        self._reveals = RevealedShares(self.graph, ())
        # Clients that said that they revealed shares for this version before.
        self.declared_spent: set[ClientId] = set()

    # Queries.

    def shortfall(self) -> str | None:
        """Returns why the accepted updates could not be unmasked if inputs ended now; None if they could."""
        if not self._takes(ServerEvent.INPUTS_OVER):
            return "Keys and shares were not exchanged in time."
        alive, least = self._accepted(), self.terms.min_clients
        if len(alive) < least:
            return f"{len(alive)} of at least {least} masked updates came."
        if not self.graph.is_recoverable(alive):
            return f"{len(alive)} of {len(self.graph.pairs)} updates came, too few to unmask them."
        return None

    def timer(self) -> float | None:
        """Returns when `time_passed` is due; None while only another event can change anything."""
        if not self._takes(ServerEvent.TIME_PASSED) or self._reveals.recovering:
            return None
        return self._wait.deadline(self.stage)

    def may_offer(self, client: ClientId) -> UpdateRefusedError | None:
        """Returns why an update of `client` cannot be accepted now; None if it can."""
        slot = self._slots.get(client)
        if slot is None:
            return not_selected(self.terms.round)
        if self.stage not in (ServerStage.ADVERTISE_KEYS, ServerStage.SHARE_KEYS, ServerStage.MASKED_INPUT):
            return StaleRoundError(f"Round {self.terms.round} is not open (any more). Wait for the next one.")
        if slot.is_excluded:
            return NotMaskedError(f"You are out of masked round {self.terms.round}. Wait for the next one.")
        if not self.graph.shares_masks(client):
            return NotMaskedError("Shares are exchanged before an update is masked; it cannot be unmasked.")
        return None

    # Events of clients.

    def keys_arrived(self, client: ClientId, frame: Keys, now: float) -> list[Effect]:
        """Takes a client's keys. Keys of another round, or too late, are ignored."""
        slot = self._slot(client, frame.round, ServerEvent.KEYS_ARRIVED)
        if slot is None or frame == slot.keys:
            return []
        if slot.keys is not None:
            return self._refuse(slot, NotMaskedError("You sent other keys for this round before."), now)
        if reason := keys_refusal(frame, client, self._base, self._taken):
            return self._refuse(slot, NotMaskedError(reason), now)
        slot.keys = frame
        self._taken |= unique_values(frame)
        return self._settle(now)

    def shares_arrived(self, client: ClientId, frame: Shares, now: float) -> list[Effect]:
        """Takes a member's sealed shares."""
        slot = self._slot(client, frame.round, ServerEvent.SHARES_ARRIVED)
        if slot is None or frame == slot.shares:
            return []
        if slot.shares is not None:
            return self._refuse(slot, NotMaskedError("You sent other shares for this round before."), now)
        expected = len(self.graph.neighbours[self.graph.places[client]])
        if len(frame.sealed) != expected:
            reason = f"You sent {len(frame.sealed)} shares; you have {expected} neighbours."
            return self._refuse(slot, NotMaskedError(reason), now)
        slot.shares = frame
        return self._settle(now)

    def consistency_signature_arrived(
        self, client: ClientId, frame: ConsistencySignature, now: float
    ) -> list[Effect]:
        """Takes a survivor's signature of the list of survivors. As many as the round needs suffice."""
        slot = self._slot(client, frame.round, ServerEvent.CONSISTENCY_SIGNATURE_ARRIVED)
        if slot is None:
            return []
        statement = survivors_statement(self.graph.context, self.alive)
        identity = self.graph.members[self.graph.places[client]].identity
        if not slot.accepted or not client_keys.verify(identity, frame.signature, statement):
            return self._refuse(slot, NotMaskedError("The survivors' signature is wrong."), now)
        slot.consistency_signature = frame.signature
        return self._settle(now)

    def reveal_arrived(self, client: ClientId, frame: Reveal, now: float) -> list[Effect]:
        """Takes a survivor's shares: one of each neighbour that exchanged shares, and its own."""
        slot = self._slot(client, frame.round, ServerEvent.REVEAL_ARRIVED)
        if slot is None or frame == slot.reveal:
            return []
        if self.stage is not ServerStage.UNMASK or not slot.accepted or slot.reveal is not None:
            return self._refuse(slot, NotMaskedError("The server did not ask for these shares."), now)
        place = self.graph.places[client]
        expected = len(self.graph.owners(place))
        if len(frame.shares) != expected:
            reason = f"You revealed {len(frame.shares)} shares; you hold {expected}."
            return self._refuse(slot, NotMaskedError(reason), now)
        slot.reveal = frame
        self._reveals.add(place, frame.shares)
        return self._settle(now)

    def declined(self, client: ClientId, frame: Decline, now: float) -> list[Effect]:
        """Takes a client's decline. If its update counts already, it stays in the sum."""
        slot = self._slot(client, frame.round, ServerEvent.CLIENT_DECLINED)
        if slot is None:
            return []
        slot.is_excluded = True
        if slot.accepted:
            return self._settle(now)
        if frame.spent:
            self.declared_spent.add(client)
        error = NotMaskedError(declined_sentence(frame, self.terms.version))
        return [Exclude(client, error, awaits_version=frame.spent), *self._settle(now)]

    def client_ready(self, client: ClientId) -> list[Effect]:
        """Takes a client's return; repeats the last frame, which it may have missed."""
        slot = self._slot(client, self.terms.round, ServerEvent.CLIENT_READY)
        if slot is None:
            return []
        slot.lost_at = None
        frame = self._last_frame(slot)
        return [Tell(client, frame)] if frame else []

    def client_left(self, client: ClientId, now: float, lost: bool) -> list[Effect]:
        """Takes the end of a connection: the client stopped, or (`lost`) may come back."""
        slot = self._slot(client, self.terms.round, ServerEvent.CLIENT_LEFT)
        if slot is None:
            return []
        slot.lost_at, slot.is_excluded = now, not lost
        return self._settle(now)

    # Events of the Round and the host.

    def input_accepted(self, client: ClientId) -> None:
        """Takes that the Round accepted the masked update of `client`."""
        if not self._takes(ServerEvent.INPUT_ACCEPTED) or not self.graph.shares_masks(client):
            raise IllegalEventError(f"The update of client {client} could not be unmasked.")
        self._slots[client].accepted = True

    def inputs_over(self, now: float) -> list[Effect]:
        """Takes the end of the Round with enough updates, and starts to unmask their sum."""
        if not self._takes(ServerEvent.INPUTS_OVER):
            raise IllegalEventError(f"Nothing is to be unmasked while the round waits for {self.stage}.")
        self.alive = self._accepted()
        if reason := self.shortfall():
            return self.fail(reason)
        self._wait.start_answers(now)
        if not self._signers:
            return self._ask_reveals(now, [], [])
        self._enter(ServerStage.CONSISTENCY_CHECK)
        survivors = Survivors(round=self.terms.round, alive=list(self.alive))
        return [TellAll(self.graph.clients(self.alive), survivors), *self._settle(now)]

    def unmasked(self) -> None:
        """Takes that the host unmasked the sum."""
        self._require_recovery(ServerEvent.UNMASKED)
        self._enter(ServerStage.DONE)

    def mismatched(self, owners: Iterable[Place], now: float) -> list[Effect]:
        """Takes that the shares of `owners` do not match their commitments; more shares may still come."""
        self._require_recovery(ServerEvent.MISMATCHED)
        self._reveals.mismatched = tuple(owners)
        return self._settle(now)

    def fail(self, reason: str, false_sharers: tuple[ClientId, ...] = ()) -> list[Effect]:
        """Ends the round without a sum; also for a `reason` that this machine cannot know."""
        self._enter(ServerStage.FAILED)
        return [FailMaskedRound(self.terms.round, reason, false_sharers)]

    def dismissed(self, reason: str) -> list[Exclude]:
        """Excludes all whose update does not count yet: the round failed, and others go on without it."""
        return exclude([slot for slot in self._slots.values() if not slot.accepted], reason)

    def time_passed(self, now: float) -> list[Effect]:
        """Takes the time; before `timer()` nothing happens."""
        return self._settle(now)

    # Internal.

    def _accepted(self) -> tuple[Place, ...]:
        slots = self._slots.values()
        return tuple(sorted(self.graph.places[slot.client] for slot in slots if slot.accepted))

    @property
    def _signers(self) -> int:
        return signers(len(self.graph.members), self._server)

    def _takes(self, event: ServerEvent) -> bool:
        return event in TRANSITIONS[self.stage].takes

    def _enter(self, stage: ServerStage) -> None:
        if stage not in TRANSITIONS[self.stage].then:
            raise IllegalEventError(f"{self.stage} does not lead to {stage}.")
        self.stage = stage

    def _slot(self, client: ClientId, number: int, event: ServerEvent) -> ClientSlot | None:
        """Returns the client's slot if its `event` of round `number` can change anything now, else None."""
        if number != self.terms.round or not self._takes(event):
            return None
        slot = self._slots.get(client)
        return None if slot is None or slot.is_excluded else slot

    def _require_recovery(self, event: ServerEvent) -> None:
        if not self._takes(event) or not self._reveals.recovering:
            raise IllegalEventError("No sum was to be unmasked.")
        self._reveals.recovering = False

    def _settle(self, now: float) -> list[Effect]:
        """Ends the stage when all frames came, no client remains to wait for, or time is up."""
        timer = self.timer()
        if timer is None:
            return []
        over = now >= timer or self._wait.is_complete(self.stage)
        match self.stage:
            case ServerStage.ADVERTISE_KEYS if over:
                return self._end_keys(now)
            case ServerStage.SHARE_KEYS if over:
                return self._end_shares()
            case ServerStage.CONSISTENCY_CHECK:
                return self._end_consistency_check(now, over)
            case ServerStage.UNMASK:
                return self._end_unmask(over)
        return []

    def _end_keys(self, now: float) -> list[Effect]:
        late = [slot for slot in self._slots.values() if slot.keys is None]
        limit = MOST_ACTIVE if self._server == "active" else MOST_MEMBERS
        slots = [slot for slot in self._slots.values() if slot.keys and not slot.is_excluded]
        chosen = largest_group(sorted(slots, key=lambda slot: slot.client)[:limit])
        # Nobody is excluded before this: who is out already is not dismissed with a group that fails.
        if len(chosen) < self.terms.min_clients:
            return self.fail(too_few_keys(len(slots), self.terms.min_clients))
        clients = {slot.client for slot in chosen}
        others = [slot for slot in slots if slot.client not in clients]
        excluded = exclude(late, "Your keys did not come in time.")
        excluded += exclude(others, f"The round has {len(chosen)} members.")
        members = (member for slot in chosen if (member := slot.member()))
        self.graph = ShareGraph.from_roster(self._base, members, self._server)
        self._enter(ServerStage.SHARE_KEYS)
        self._wait.start_shares(now)
        return [*excluded, TellAll(tuple(self.graph.places), self.graph.roster_frame(self.terms.round))]

    def _end_shares(self) -> list[Effect]:
        """Pairs the members whose secrets can be recovered from the shares that came; excludes the others."""
        places = self.graph.places
        members = {places[slot.client]: slot for slot in self._slots.values() if not slot.is_excluded}
        shared = {place: slot.minimum for place, slot in members.items() if slot.shares}
        sharing = self.graph.largest_recoverable(shared)
        if len(sharing) < self.terms.min_clients:
            return self.fail(too_few_shares(len(shared), self.terms.min_clients, len(self.graph.members)))
        excluded = exclude(
            [slot for slot in members.values() if not slot.shares], "Your shares did not come in time."
        )
        excluded += exclude(
            [members[place] for place in shared if place not in sharing],
            "Too few neighbours exchanged shares.",
        )
        self.graph.pair_up(sharing)
        self._enter(ServerStage.MASKED_INPUT)
        clients = self.graph.clients(self.graph.pairs)
        return [*excluded, *(Tell(client, self._dealt(client)) for client in clients)]

    def _dealt(self, client: ClientId) -> Dealt:
        return self.graph.dealt_frame(self.terms.round, client, self._slots)

    def _end_consistency_check(self, now: float, over: bool) -> list[Effect]:
        places, needed = self.graph.places, self._signers
        signed = {
            places[slot.client]: slot.consistency_signature
            for slot in self._slots.values()
            if slot.consistency_signature
        }
        if len(signed) >= needed:
            vouchers = sorted(signed)
            self._wait.start_answers(now)
            return self._ask_reveals(now, vouchers, [signed[voucher] for voucher in vouchers])
        if not over:
            return []
        return self.fail(f"{len(signed)} of at least {needed} clients vouched for the survivors.")

    def _ask_reveals(self, now: float, vouchers: list[Place], signatures: list[bytes]) -> list[Effect]:
        self._enter(ServerStage.UNMASK)
        alive = list(self.alive)
        number = self.terms.round
        self.unmask_frame = Unmask(round=number, alive=alive, vouchers=vouchers, signatures=signatures)
        self._reveals = RevealedShares(self.graph, self.alive, self._slots)
        return [TellAll(self.graph.clients(alive), self.unmask_frame), *self._settle(now)]

    def _end_unmask(self, over: bool) -> list[Effect]:
        """Unmasks when the shares suffice; repeats it with more shares if they did not match."""
        reveals = self._reveals
        if reveals.may_attempt(over):
            return [reveals.attempt(self.terms.round)]
        if not over:
            return []
        false = reveals.false_sharers()
        return self.fail(not_unmasked(false, reveals.holders, len(self.alive)), false)

    def _last_frame(self, slot: ClientSlot) -> Roster | Dealt | Survivors | Unmask | None:
        match self.stage:
            case ServerStage.SHARE_KEYS:
                return self.graph.roster_frame(self.terms.round)
            case ServerStage.MASKED_INPUT:
                return self._dealt(slot.client)
            case ServerStage.CONSISTENCY_CHECK if slot.accepted:
                return Survivors(round=self.terms.round, alive=list(self.alive))
            case ServerStage.UNMASK if slot.accepted:
                return self.unmask_frame
        return None

    def _refuse(self, slot: ClientSlot, error: UpdateRefusedError, now: float) -> list[Effect]:
        """Excludes a client. If its update counts already, it stays in the sum."""
        slot.is_excluded = True
        refused: Effect = IgnoreReveal(slot.client, error) if slot.accepted else Exclude(slot.client, error)
        return [refused, *self._settle(now)]
