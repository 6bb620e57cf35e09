"""Synchronous federated rounds of one task, as a machine without I/O (McMahan et al. 2017, algorithm 1).

    WAITING ── enough clients ready ──> GATHERING ── gather seconds ──> TRAINING ── all reported, or deadline
       ^                                                                   │
       ├───────────── quorum missed: Abandon ──────────────────────────────┤
       └── version made ── AGGREGATING <───────── quorum reached ──────────┘   FINISHED after `rounds`

Its host owns sockets, clock and arithmetic: it reports events with `now` (seconds of any steady clock),
performs the effects they return, and calls `time_passed` at `timer()`. An event that does not fit raises
IllegalEventError (the host's mistake) or returns Refuse (the client's), and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from backend.errors import (
    BadExamplesError,
    DuplicateError,
    NotSelectedError,
    StaleRoundError,
    UpdateRefusedError,
    WrongLengthError,
)
from backend.protocols.assignment import assign, assign_parts, training_seed
from backend.protocols.effects import (
    Abandon,
    Accept,
    Aggregate,
    Check,
    ClientId,
    Effect,
    Finished,
    Grant,
    Opened,
    Refuse,
    SendTrain,
)
from backend.wire.messages import Offer

# A client whose connection broke may come back and deliver; nobody waits longer for it than this.
RETURN_SECONDS = 5.0
# Between an abandoned round and the next, so that clients who fail at once do not spin the server.
RETRY_SECONDS = 2.0


class IllegalEventError(RuntimeError):
    """The host reported what cannot happen now; nothing changed."""


class Phase(StrEnum):
    """Where the task is."""

    WAITING = "waiting"
    GATHERING = "gathering"
    TRAINING = "training"
    AGGREGATING = "aggregating"
    FINISHED = "finished"


TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    Phase.WAITING: frozenset({Phase.GATHERING, Phase.TRAINING}),
    Phase.GATHERING: frozenset({Phase.WAITING, Phase.TRAINING}),
    Phase.TRAINING: frozenset({Phase.AGGREGATING, Phase.GATHERING, Phase.WAITING}),
    Phase.AGGREGATING: frozenset({Phase.WAITING, Phase.GATHERING, Phase.TRAINING, Phase.FINISHED}),
    Phase.FINISHED: frozenset(),
}


class Standing(StrEnum):
    """How far a member of the open round is."""

    TRAINING = "training"
    SENDING = "sending"
    CHECKING = "checking"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    GONE = "gone"


OUTSTANDING = frozenset({Standing.TRAINING, Standing.SENDING, Standing.CHECKING})


@dataclass(frozen=True)
class Plan:
    """What a task file says about its rounds. `update_bytes` is the flat vector's length in bytes,
    `metric_rows` the number of pairs in an offer's sums.
    """

    rounds: int
    min_available_clients: int
    quorum: int
    deadline: float
    gather: float
    epochs: int
    shard_examples: tuple[int, ...]
    shards_per_client: int
    update_bytes: int
    metric_rows: int
    seed: int
    shard_parts: tuple[int, ...] = ()


@dataclass
class Member:
    """One client in the open round."""

    shards: tuple[int, ...]
    seed: int
    most_examples: int
    standing: Standing = Standing.TRAINING
    lost_at: float | None = None
    offer: Offer | None = None


@dataclass
class Round:
    """The rounds of one task, one after the other. `round` and `version` are the last of an earlier run."""

    plan: Plan
    round: int = 0
    version: int = 0
    phase: Phase = Phase.WAITING
    ready: dict[ClientId, bool] = field(default_factory=dict)
    members: dict[ClientId, Member] = field(default_factory=dict)
    _until: float = 0.0

    def __post_init__(self) -> None:
        if self.version >= self.plan.rounds:
            self.phase = Phase.FINISHED

    # What the host asks.

    def timer(self) -> float | None:
        """When `time_passed` is due; None while only an event can change anything."""
        if self.phase is Phase.GATHERING:
            return self._until
        if self.phase is not Phase.TRAINING:
            return None
        lost = [member.lost_at for member in self.members.values() if member.standing in OUTSTANDING]
        if any(at is None for at in lost):
            return self._until
        return min(self._until, max((at for at in lost if at is not None), default=0.0) + RETURN_SECONDS)

    def deadline(self) -> float | None:
        """When the open round ends at the latest."""
        return self._until if self.phase is Phase.TRAINING else None

    def needed(self) -> int:
        """How many more clients must be ready before a round opens."""
        return max(0, self.plan.min_available_clients - sum(self.ready.values()))

    def reported(self) -> int:
        """Members of the round whose update was accepted or refused."""
        return sum(m.standing in (Standing.ACCEPTED, Standing.REFUSED) for m in self.members.values())

    def status(self, client: ClientId) -> Literal["loading", "ready", "training", "reported", "refused"]:
        """What a connected client does, in the wire's word."""
        member = self.members.get(client)
        if member is None or member.standing is Standing.GONE:
            return "ready" if self.ready.get(client) else "loading"
        if member.standing is Standing.ACCEPTED:
            return "reported"
        return "refused" if member.standing is Standing.REFUSED else "training"

    # Clients come and go.

    def client_joined(self, client: ClientId) -> list[Effect]:
        """A client said hello. One that lost its connection within the open round is a member still."""
        if client in self.ready:
            raise IllegalEventError(f"Client {client} is here already.")
        self.ready[client] = False
        if client in self.members:
            self.members[client].lost_at = None
        return []

    def client_ready(self, client: ClientId, now: float) -> list[Effect]:
        """A client may be selected. A member that still owes its update is told its plan again."""
        self._must_be_here(client)
        self.ready[client] = True
        member = self.members.get(client)
        if member is not None and member.standing is Standing.TRAINING and self.phase is Phase.TRAINING:
            return [self._plan_of(client, member, now)]
        return self._gather(now)

    def client_left(self, client: ClientId, now: float, lost: bool) -> list[Effect]:
        """A client stopped, or its connection was lost and it may come back."""
        self._must_be_here(client)
        del self.ready[client]
        member = self.members.get(client)
        if member is not None and member.standing in (Standing.TRAINING, Standing.SENDING):
            # Bytes sent so far are forgotten with the connection.
            member.standing = Standing.TRAINING if lost else Standing.GONE
            member.lost_at, member.offer = now, None
        if self.phase is Phase.GATHERING and self.needed():
            self._enter(Phase.WAITING)
        return self._settle(now)

    # Updates.

    def update_offered(self, client: ClientId, offer: Offer, now: float) -> list[Effect]:
        """A client has an update. The answer is Grant, or Refuse with the reason."""
        self._must_be_here(client)
        error = self._objection(client, offer)
        if error is None:
            member = self.members[client]
            member.standing, member.offer = Standing.SENDING, offer
            self.ready[client] = True
            return [Grant(client, offer)]
        refusal = Refuse(client, offer.round, error)
        member_now = self.members.get(client) if self._is_open(offer.round) else None
        if member_now is None:
            # It is done with whatever it worked on, and free for the next round.
            self.ready[client] = True
            return [refusal, *self._gather(now)]
        if member_now.standing is Standing.TRAINING:
            member_now.standing = Standing.REFUSED
        return [refusal, *self._settle(now)]

    def update_arrived(self, client: ClientId, number: int) -> list[Effect]:
        """The last byte of a granted update of round `number` came."""
        if not self._is_open(number):
            return []
        member = self.members[client]
        if member.standing is not Standing.SENDING or member.offer is None:
            raise IllegalEventError(f"Client {client} was not sending.")
        member.standing = Standing.CHECKING
        return [Check(client, member.offer)]

    def update_failed(
        self, client: ClientId, number: int, error: UpdateRefusedError, now: float
    ) -> list[Effect]:
        """The granted update was sent wrongly, or its values were found bad."""
        member = self.members.get(client) if self._is_open(number) else None
        if member is None or member.standing not in (Standing.SENDING, Standing.CHECKING):
            return []
        member.standing = Standing.REFUSED
        return [Refuse(client, number, error), *self._settle(now)]

    def update_checked(self, client: ClientId, number: int, now: float) -> list[Effect]:
        """The update's values are good. It counts if its round is still open (else it was refused before)."""
        member = self.members.get(client) if self._is_open(number) else None
        if member is None or member.standing is not Standing.CHECKING or member.offer is None:
            return []
        member.standing = Standing.ACCEPTED
        return [Accept(client, member.offer), *self._settle(now)]

    # Time and the aggregate.

    def time_passed(self, now: float) -> list[Effect]:
        """The clock reached `timer()` (or any other time: then nothing happens)."""
        if self.phase is Phase.GATHERING and now >= self._until:
            return self._open(now)
        return self._settle(now)

    def aggregated(self, version: int, now: float) -> list[Effect]:
        """The host made and recorded `version`."""
        if self.phase is not Phase.AGGREGATING or version != self.version + 1:
            raise IllegalEventError(f"Version {version} was not asked for.")
        self.version = version
        self._close()
        if version >= self.plan.rounds:
            self._enter(Phase.FINISHED)
            return [Finished(version)]
        if not self.needed():
            return self._open(now)
        self._enter(Phase.WAITING)
        return []

    def aggregation_failed(self, reason: str, now: float) -> list[Effect]:
        """The host could not make or record the version; the round counts for nothing."""
        if self.phase is not Phase.AGGREGATING:
            raise IllegalEventError("No aggregate was asked for.")
        return self._abandon(reason, now)

    # Inside.

    def _must_be_here(self, client: ClientId) -> None:
        if client not in self.ready:
            raise IllegalEventError(f"Client {client} has not joined.")

    def _is_open(self, number: int) -> bool:
        return self.phase is Phase.TRAINING and number == self.round

    def _enter(self, phase: Phase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise IllegalEventError(f"{self.phase} does not lead to {phase}.")
        self.phase = phase

    def _gather(self, now: float) -> list[Effect]:
        if self.phase is not Phase.WAITING or self.needed():
            return []
        if not self.plan.gather:
            return self._open(now)
        self._enter(Phase.GATHERING)
        self._until = now + self.plan.gather
        return []

    def _open(self, now: float) -> list[Effect]:
        self._enter(Phase.TRAINING)
        plan, self.round = self.plan, self.round + 1
        cohort = sorted(client for client, ready in self.ready.items() if ready)
        if plan.shard_parts:
            shards = assign_parts(cohort, plan.shard_parts, plan.shards_per_client, self.round, plan.seed)
        else:
            shards = assign(cohort, len(plan.shard_examples), plan.shards_per_client, self.round, plan.seed)
        self._until = now + plan.deadline
        self.members = {
            client: Member(
                shards=shards[client],
                seed=training_seed(client, self.round, plan.seed),
                most_examples=plan.epochs * sum(plan.shard_examples[number] for number in shards[client]),
            )
            for client in cohort
        }
        plans = [self._plan_of(client, member, now) for client, member in self.members.items()]
        return [Opened(self.round, self.version, tuple(cohort)), *plans]

    def _plan_of(self, client: ClientId, member: Member, now: float) -> SendTrain:
        seconds = max(0.0, self._until - now)
        return SendTrain(client, self.round, self.version, member.shards, member.seed, seconds)

    def _objection(self, client: ClientId, offer: Offer) -> UpdateRefusedError | None:
        if not self._is_open(offer.round):
            return StaleRoundError(f"Round {offer.round} is not open (any more). Wait for the next one.")
        member = self.members.get(client)
        if member is None or member.standing is Standing.GONE:
            return NotSelectedError(f"You are not in round {offer.round}. Wait for the next one.")
        if member.standing is not Standing.TRAINING:
            return DuplicateError(f"Your update of round {offer.round} was offered before; one counts.")
        if offer.version != self.version:
            return StaleRoundError(
                f"Round {offer.round} trains version {self.version}, not {offer.version}. Load that version."
            )
        if not 1 <= offer.examples <= member.most_examples:
            return BadExamplesError(
                f"{offer.examples} examples cannot be: your shards and epochs make 1 to "
                f"{member.most_examples}. Count those that were trained on."
            )
        if offer.size != self.plan.update_bytes:
            return WrongLengthError(
                f"The update has {offer.size} bytes; this model's has {self.plan.update_bytes}. "
                "Load the task's bundle again."
            )
        if len(offer.sums) != self.plan.metric_rows:
            return WrongLengthError(
                f"The offer has {len(offer.sums)} metric sums; this model's has {self.plan.metric_rows}. "
                "Load the task's bundle again."
            )
        return None

    def _settle(self, now: float) -> list[Effect]:
        """Ends the round when nobody is left to wait for."""
        if self.phase is not Phase.TRAINING:
            return []
        waiting = any(member.standing in OUTSTANDING for member in self.members.values())
        timer = self.timer()
        if waiting and timer is not None and now < timer:
            return []
        return self._end(now)

    def _end(self, now: float) -> list[Effect]:
        late = StaleRoundError(f"Round {self.round} ended before your update was complete.")
        refusals: list[Effect] = []
        for client, member in self.members.items():
            if member.standing in (Standing.SENDING, Standing.CHECKING):
                refusals.append(Refuse(client, self.round, late))
            elif member.standing is Standing.TRAINING and client in self.ready:
                # Nothing heard by the deadline: not selected again before a sign of life.
                self.ready[client] = False
        accepted = sum(member.standing is Standing.ACCEPTED for member in self.members.values())
        if accepted >= self.plan.quorum:
            self._enter(Phase.AGGREGATING)
            return [*refusals, Aggregate(self.round, self.version)]
        reason = f"{accepted} of at least {self.plan.quorum} updates arrived in time."
        return [*refusals, *self._abandon(reason, now)]

    def _abandon(self, reason: str, now: float) -> list[Effect]:
        self._close()
        if self.needed():
            self._enter(Phase.WAITING)
        else:
            self._enter(Phase.GATHERING)
            self._until = now + max(RETRY_SECONDS, self.plan.gather)
        return [Abandon(self.round, reason)]

    def _close(self) -> None:
        self.members = {}
