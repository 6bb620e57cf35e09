"""The rounds of a mesh, as a machine without I/O: it calls peers together, and never sees a vector.

    WAITING ── enough peers ready ──> GATHERING ── gather seconds ──> TRAINING
       ^                                                                │ all trained, or deadline
       ├── too few trained: Abandon ────────────────────────────────────┤
       ├── no group has a result, or nobody brings it: Abandon ── AGGREGATING (groups average, one deposits)
       └── EVALUATING, where peers measure <── recorded ────────────────┘       FINISHED by rounds or rules

What peers made while the server was away is brought and recorded before a round opens (AGGREGATING, without
groups). docs/reference/mesh.md has the protocol, 0029 and 0033 what the server does in it. Its host
reports events with `now` (seconds of any steady clock), performs the effects that they return, and calls
`time_passed` at `timer()`. What a peer says at the wrong time changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from backend.errors import UpdateRefusedError
from backend.protocols.mesh.coordinator_effects import (
    Effect,
    MeshRoundOpened,
    RecordWeights,
    RefuseReport,
    SendGroup,
    TakeUp,
)
from backend.protocols.mesh.deposits import Depositing, depositing, taking_up
from backend.protocols.mesh.group_orders import Averages, group_orders
from backend.protocols.mesh.holdings import LEAST_WITNESSES, WeightHoldings
from backend.protocols.mesh.mesh_round import (
    MeshMemberStage,
    MeshRound,
    Trainee,
    misreport,
    objection,
    works_of,
)
from backend.protocols.mesh.serverless.last_round import FIRST_SERVERLESS_GROUP
from backend.protocols.rounds.base import Rounds
from backend.protocols.rounds.deadline import PlannedWork
from backend.protocols.rounds.phases import IllegalEventError, RoundPhase
from backend.protocols.rounds.plan import RoundPlan
from backend.protocols.rounds.shard_assignment import training_seed
from backend.protocols.rounds.stop_rules import RunProgress
from backend.wire.mesh_messages import Averaged, Failed, Group, Measure, Trained

# Groups of one start of a server are numbered from a multiple of it on.
GROUPS = 1024


class MeshCoordinator(Rounds[MeshRound, Effect]):
    """The rounds of one mesh, one after the other.

    `number` and `version` are the last of an earlier run of the server, `weights` those of that version, made
    in `weights_round`; `opening` is how often it was started, this time included. Groups bear numbers that no
    earlier run gave out, so that peers cannot take one for another.
    """

    def __init__(
        self,
        plan: RoundPlan,
        averages: Averages,
        weights: str,
        weights_round: int = 0,
        number: int = 0,
        version: int = 0,
        opening: int = 1,
        progress: RunProgress | None = None,
        past: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(plan, number, version, progress, past)
        self.averages = averages
        self.opening = opening
        self.holdings = WeightHoldings((weights_round, weights))
        self.depositing: Depositing | None = None
        # Of each peer that told: seconds there and back, and bytes per second, to others.
        self.links: dict[str, dict[str, tuple[float, float]]] = {}

    # What the host asks.

    @property
    def quorum(self) -> int:
        """How many must train, and how many survive in a group, at least."""
        return max(2, self.plan.quorum)

    def timer(self) -> float | None:
        """When `time_passed` is due; None while only an event can change anything."""
        return self.depositing.timer() if self.depositing else super().timer()

    def deadline(self) -> float | None:
        """When training, averaging or an evaluation ends at the latest."""
        return self.depositing.until if self.depositing else super().deadline()

    def needed(self) -> int:
        """How many more peers must be ready before a round opens."""
        return max(0, max(2, self.plan.min_available_clients) - self.attendance.available)

    # Peers come and go.

    def peer_entered(
        self, client: str, now: float = 0.0, certified: tuple[int, str] | None = None
    ) -> list[Effect]:
        """A peer is here; `certified` are the round and weights of the result that it shows to have."""
        self.client_joined(client)
        if certified is not None:
            self.holdings.certified(client, *certified)
        return self._look_back(now)

    def client_left(self, client: str, now: float, lost: bool) -> list[Effect]:
        """A peer stopped, or its connection was lost and it may come back."""
        effects = super().client_left(client, now, lost)
        self.links.pop(client, None)
        if len(self.attendance.connected) < LEAST_WITNESSES:
            # No round can be made here: to those who are gone, this server is away.
            self.holdings.away = True
        return effects

    def links_measured(self, client: str, links: Iterable[Measure]) -> None:
        """A peer tells of its links: whom groups are made of hangs on them."""
        self.links[client] = {
            one.client: (one.seconds, one.rate)
            for one in links
            if 0.0 <= one.seconds < 3600.0 and 0.0 <= one.rate < 1e12
        }

    # A round.

    def peer_trained(self, client: str, said: Trained, now: float) -> list[Effect]:
        """A peer's local steps are done. Who says so again, and is in a group by now, is told its group."""
        _ = self.attendance[client]
        member = self._member(client)
        if self.open is None or member is None or said.round != self.open.number:
            return []
        if member.standing is MeshMemberStage.AVERAGING and member.group is not None:
            return [SendGroup(client, member.group)]
        if member.standing is not MeshMemberStage.TRAINING:
            return []
        if error := objection(member, said, self.plan.metric_rows):
            return [*self._put_out(client, member, error), *self._settle(now)]
        member.standing, member.trained = MeshMemberStage.TRAINED, said
        if not self._speeds.failed:
            self._speeds.delivered(client, said.examples, now - self.open.opened)
        return self._settle(now)

    def peer_averaged(self, client: str, said: Averaged, now: float) -> list[Effect]:
        """A peer has the result of its group, which its signature shows (the host looked at that)."""
        member = self._member(client)
        if member is None or not self._is_of(member, said.round, said.group):
            return []
        if member.group is None or member.standing is not MeshMemberStage.AVERAGING:
            return []
        if error := misreport(member.group, client, said):
            return [*self._put_out(client, member, error), *self._settle(now)]
        member.standing, member.averaged = MeshMemberStage.AVERAGED, said
        return self._settle(now)

    def group_of(self, client: str, number: int, group: int) -> Group | None:
        """The group of that round and number, if it is open and `client` is in it."""
        member = self._member(client)
        return member.group if member and self._is_of(member, number, group) else None

    def peer_reported(self, client: str, said: Averaged, now: float) -> list[Effect]:
        """A peer has the result of a group of which this server knows nothing, as it was away."""
        if self.opening * GROUPS <= said.group < FIRST_SERVERLESS_GROUP:
            return []
        self.holdings.reported(client, said)
        return self._look_back(now)

    def peer_failed(self, client: str, said: Failed, now: float) -> list[Effect]:
        """A peer's group has no result for it."""
        member = self._member(client)
        if self.open is None or member is None or not self._is_of(member, said.round, said.group):
            return []
        if member.standing is MeshMemberStage.AVERAGING:
            member.standing = MeshMemberStage.FAILED
            self.open.reasons.append(said.reason)
        return self._settle(now)

    def deposited(self, weights: str) -> list[Effect]:
        """Somebody brought weights; if they are those that are wanted, they are to be recorded."""
        if not self.wants(weights) or self.depositing is None:
            return []
        self.depositing.arrived = True
        return [RecordWeights(self.depositing.outcome)]

    def wants(self, weights: str) -> bool:
        """Whether these are to be recorded."""
        return self.depositing is not None and self.depositing.wants(weights)

    def recorded(self, version: int, now: float) -> list[Effect]:
        """The host recorded `version`."""
        if self.depositing is None or version != self.version + 1:
            raise IllegalEventError(f"Version {version} was not asked for.")
        outcome = self.depositing.outcome
        self.holdings.recorded = (outcome.round, outcome.weights)
        return self._version_made(version, outcome.seconds, now)

    def not_recorded(self, reason: str, now: float) -> list[Effect]:
        """The host could not record the version: the round counts for nothing in its records."""
        if self.depositing is None:
            raise IllegalEventError("Nothing was to be recorded.")
        return self._abandon(reason, now)

    def cut_short(self, reason: str, now: float) -> list[Effect]:
        """See Rounds. Groups that average end with a result all the same, which nobody is asked for."""
        if self.open is None or self.depositing:
            return []
        return self._abandon(reason, now)

    # Inside.

    def _member(self, client: str) -> Trainee | None:
        return self.open.members.get(client) if self.open else None

    def _is_of(self, member: Trainee, number: int, group: int) -> bool:
        mine = member.group
        return mine is not None and (mine.round, mine.group) == (number, group)

    def _look_back(self, now: float) -> list[Effect]:
        """Ends a round that trains from weights older than those that peers bring from one that this server
        saw no end of."""
        convened = self.open
        if convened is None or convened.groups or self.depositing:
            return []
        if not self.holdings.unseen(self.attendance.connected):
            return []
        return self._abandon("Peers brought the result of a round that this server saw no end of.", now)

    def _put_out(self, client: str, member: Trainee, error: UpdateRefusedError) -> list[Effect]:
        member.standing = MeshMemberStage.FAILED
        return [RefuseReport(client, self.round, error)]

    def _resend(self, client: str, now: float) -> list[Effect]:
        member = self._member(client)
        if self.open and member and member.standing is MeshMemberStage.TRAINING:
            return [self.open.order(client, now)]
        return []

    def _begin(self, now: float) -> list[Effect]:
        if self.holdings.settle(self.attendance.connected):
            return self._take_up(now)
        plan = self.plan
        self._enter(RoundPhase.TRAINING)
        self.round = max(self.round, self.holdings.round) + 1
        clients = self.attendance.select(self.attendance.available, "")
        members = self._members(clients)
        seconds = plan.deadline
        if plan.adaptive_deadline:
            seconds = self._speeds.seconds(works_of(members), self.quorum, plan.min_deadline, plan.deadline)
        self.open = MeshRound(self.round, self.version, now, now + seconds, members, plan.grace)
        return [
            MeshRoundOpened(self.round, self.version, clients, seconds),
            *(self.open.order(client, now) for client in clients),
        ]

    def _take_up(self, now: float) -> list[Effect]:
        """Peers hold the result of a round of which this server saw no end: it is recorded first."""
        self._enter(RoundPhase.AGGREGATING)
        # A round that this server gave up meanwhile is recorded as such: the result stands under the next.
        self.round, weights = max(self.round + 1, self.holdings.round), self.holdings.newest
        held, here = (self.holdings.round, weights), sorted(self.attendance.connected)
        holders = tuple(client for client in here if self.holdings.known.get(client) == held)
        self.open = MeshRound(self.round, self.version, now, now, {}, self.plan.grace)
        self.depositing = taking_up(self.round, self.version, weights, holders, self.plan.deadline, now)
        return [TakeUp(self.round, self.version, holders), *self._ask_again(self.depositing, now)]

    def _members(self, clients: tuple[str, ...]) -> dict[str, Trainee]:
        plan, members = self.plan, dict[str, Trainee]()
        parts = self._assigner.assign(clients, len(clients)) if self._assigner else {}
        for client in clients:
            self.attendance.took_part(client)
            present, shards = self.attendance[client], parts.get(client, ())
            sizes = plan.shard_examples
            examples = sum(sizes[shard] for shard in shards) if sizes else present.examples
            work = PlannedWork(plan.most_examples(examples), plan.most_steps(examples), present.step_ms)
            seed = training_seed(client, self.round, plan.seed)
            members[client] = Trainee(self.holdings.base(client), shards, seed, work)
        return members

    def _settle_open(self, running: MeshRound, due: bool, now: float) -> list[Effect]:
        if self.depositing:
            return self._ask_again(self.depositing, now) if due else []
        if due or not running.awaited():
            return self._elect(running, now) if running.groups else self._form(running, now)
        return []

    def _form(self, convened: MeshRound, now: float) -> list[Effect]:
        """Makes groups of those who trained; the others are late, and say that they are ready again."""
        for client in convened.awaited():
            member = convened.members[client]
            member.standing = MeshMemberStage.OUT
            if client in self.attendance and now >= convened.until:
                self.attendance.suspend(client)
            if now >= convened.until:
                self._speeds.missed(client, member.work.examples, now - convened.opened)
        trained = convened.trained()
        if len(trained) < self.quorum:
            return self._abandon(f"{len(trained)} of at least {self.quorum} peers trained in time.", now)
        self._enter(RoundPhase.AGGREGATING)
        groups = group_orders(
            self.averages,
            trained,
            self.plan.seed,
            self.round,
            self.opening * GROUPS,
            {
                (client, other): link
                for client in trained
                for other, link in self.links.get(client, {}).items()
                if other in trained
            },
        )
        convened.begin(groups, now)
        return [SendGroup(client, group) for group in groups for client in group.members]

    def _elect(self, convened: MeshRound, now: float) -> list[Effect]:
        """The groups are done: one survivor of the largest result is asked for it."""
        results = convened.results()
        if not results:
            reason = convened.reasons[0] if convened.reasons else "No peer reported a result in time."
            return self._abandon(f"No group averaged. {reason}"[:500], now)
        best = results[0]
        holders = [(client, one.weights) for one in results for client in one.holders]
        self.holdings.made(convened.number, best.weights, holders)
        self.depositing = depositing(convened, results, self.plan.deadline, now)
        return self._ask_again(self.depositing, now)

    def _ask_again(self, deposit: Depositing, now: float) -> list[Effect]:
        asked = deposit.ask(self.attendance.connected, now)
        if asked is not None:
            return [asked]
        if not deposit.over(now):
            return []
        return self._abandon(
            "The peers averaged, but nobody brought the weights for the record. They go on from them.", now
        )

    def _take_back(self, running: MeshRound) -> None:
        """Peers that averaged go on from their weights, though nobody brought these for the record."""
        if self.depositing is None:
            super()._take_back(running)

    def _close(self, seconds: float) -> None:
        self.depositing = None
        super()._close(seconds)
