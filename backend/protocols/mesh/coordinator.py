"""Coordinates the rounds of a mesh, as a state machine without I/O; it never sees a vector.

    WAITING ── enough peers ready ──> GATHERING ── gather seconds ──> TRAINING
       ^                                                                │ all trained, or deadline
       ├── too few trained: Abandon ────────────────────────────────────┤
       ├── no group has a result, or nobody brings it: Abandon ── AGGREGATING (groups average, one deposits)
       └── EVALUATING, where peers measure <── recorded ────────────────┘       FINISHED by rounds or rules

A result that peers made while the server was away is deposited and recorded before a round opens
(AGGREGATING, without groups). docs/reference/mesh.md has the protocol, decisions 0029 and 0033 the server's
part. The host reports events with `now` (seconds of any steady clock), performs the effects that they
return, and calls `time_passed` at `timer()`. A frame at the wrong time changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from backend.errors import UpdateRefusedError
from backend.protocols.mesh.coordinator_effects import (
    Effect,
    GroupsFormed,
    MeshRoundOpened,
    RecordWeights,
    RefuseReport,
    SendGroup,
    TakeUp,
)
from backend.protocols.mesh.deposits import Depositing, depositing, taking_up
from backend.protocols.mesh.group_orders import Averages
from backend.protocols.mesh.holdings import LEAST_WITNESSES, ProvenResult, WeightHoldings
from backend.protocols.mesh.latency_groups import plausible_links
from backend.protocols.mesh.mesh_round import MeshRound, works_of
from backend.protocols.mesh.round_rules import round_rules
from backend.protocols.mesh.trainee import MeshMemberStage, Trainee
from backend.protocols.rounds.base import Rounds
from backend.protocols.rounds.phases import IllegalEventError, RoundPhase
from backend.protocols.rounds.plan import RoundPlan
from backend.protocols.rounds.shard_assignment import training_seed
from backend.protocols.rounds.stop_rules import RunProgress
from backend.wire.mesh_messages import Averaged, Failed, Group, Measure, Trained

# The groups of each start of a server are numbered from another multiple of this on.
GROUPS = 1024


class MeshCoordinator(Rounds[MeshRound, Effect]):
    """The rounds of one mesh, one after the other.

    `number` and `version` are the last of an earlier run of the server, `weights` those of that version, made
    in `weights_round`; `opening` counts the server's starts, this one included. Group numbers differ from
    those of earlier runs, so that peers cannot confuse groups.
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
        group_seed: int | None = None,
    ) -> None:
        super().__init__(plan, number, version, progress, past)
        # Groups are shuffled by a seed that peers do not know: none can choose whom it averages with.
        self._group_seed = plan.seed if group_seed is None else group_seed
        self.averages, self._rules = averages, round_rules(averages)
        self.opening = opening
        self.holdings = WeightHoldings((weights_round, weights))
        self.depositing: Depositing | None = None
        # By reporting peer and other peer: round-trip seconds and bytes per second.
        self.links: dict[str, dict[str, tuple[float, float]]] = {}
        # In a Byzantine mesh: the clients with a seat, as its members proved.
        self.seated: frozenset[str] = frozenset()
        # Connected peers that did not report the end of their last group: no round waits for them.
        self._silent: set[str] = set()

    # Queries.

    @property
    def quorum(self) -> int:
        """The minimum of peers that train, and of survivors in a group."""
        return max(2, self.plan.quorum)

    def timer(self) -> float | None:
        """Returns when `time_passed` is due; None while only another event can change anything."""
        return self.depositing.timer() if self.depositing else super().timer()

    def deadline(self) -> float | None:
        """Returns the deadline of training, averaging or an evaluation."""
        return self.depositing.until if self.depositing else super().deadline()

    def needed(self) -> int:
        """Returns how many more peers must be ready before a round opens.

        In a Byzantine mesh no more than have a seat: banned liars do not stop the others.
        """
        least = self.plan.min_available_clients
        if self.seated:
            least = min(least, len(self.seated))
        return max(0, max(2, least) - self.attendance.available)

    # Connections of peers.

    def peer_entered(self, client: str, now: float = 0.0, proven: ProvenResult | None = None) -> list[Effect]:
        """Takes a peer's connection; `proven` is a result that it proves to hold."""
        self.client_joined(client)
        if proven is not None:
            self.holdings.certified(client, proven)
        return self._look_back(now)

    def client_left(self, client: str, now: float, lost: bool) -> list[Effect]:
        """Takes that a peer stopped, or lost its connection and may come back."""
        effects = super().client_left(client, now, lost)
        self.links.pop(client, None)
        self._silent.discard(client)
        if len(self.attendance.connected) < LEAST_WITNESSES:
            # No round is possible with this server: for the peers that left, it is away.
            self.holdings.away = True
        return effects

    def links_measured(self, client: str, links: Iterable[Measure]) -> None:
        """Takes a peer's measurements of its links, on which near groups depend."""
        self.links[client] = plausible_links(links)

    def client_ready(self, client: str, now: float, step_ms: float = 0.0, examples: int = 0) -> list[Effect]:
        """See Rounds. A peer in a group reports ready only if it was started again, or its order was lost."""
        effects = super().client_ready(client, now, step_ms, examples)
        if self.open is None or not self.open.forget_group(client, now):
            return effects
        return [*effects, *self._settle(now)]

    # Events of a round.

    def peer_trained(self, client: str, said: Trained, now: float) -> list[Effect]:
        """Takes a report of training. If the peer repeats it and is in a group, its order is repeated."""
        _ = self.attendance[client]
        member = self._member(client)
        if self.open is None or member is None or said.round != self.open.number:
            return []
        if member.standing is MeshMemberStage.AVERAGING and member.group is not None:
            member.restarted = False
            return [SendGroup(client, member.group)]
        if member.standing is not MeshMemberStage.TRAINING:
            return []
        if error := self._rules.objection(member, said, self.plan.metric_rows):
            return [*self._put_out(client, member, error), *self._settle(now)]
        member.standing, member.trained = MeshMemberStage.TRAINED, said
        if not self._speeds.failed and said.steps:
            self._speeds.delivered(client, said.examples, now - self.open.opened)
        return self._settle(now)

    def peer_averaged(self, client: str, said: Averaged, now: float) -> list[Effect]:
        """Takes a report of a group's result, whose signature the host has checked."""
        heard, member = self._heard_from(client, now), self._member(client)
        if member is None or not self._is_of(member, said.round, said.group):
            return heard
        if member.group is None or member.standing is not MeshMemberStage.AVERAGING:
            return heard
        if error := self._rules.misreport(member.group, client, said):
            return [*self._put_out(client, member, error), *self._settle(now)]
        member.standing, member.averaged = MeshMemberStage.AVERAGED, said
        self._report_arrived(client, member, now)
        return self._settle(now)

    def group_of(self, client: str, number: int, group: int) -> Group | None:
        """Returns the group of that round and number, if it is open and `client` is in it."""
        member = self._member(client)
        return member.group if member and self._is_of(member, number, group) else None

    def peer_reported(self, client: str, now: float) -> list[Effect]:
        """Takes a report on a group that is not open: it tells nothing but that the peer lives."""
        return self._heard_from(client, now)

    def peer_certified(self, client: str, proven: ProvenResult, now: float) -> list[Effect]:
        """Takes a result that a peer proves to hold, made while this server was away."""
        self.holdings.certified(client, proven)
        return self._look_back(now)

    def base_of(self, group: Group) -> str | None:
        """Returns the weights from which most members of an open group trained; None if it is not open."""
        return self.open.base_of(group) if self.open else None

    def state_agreed(self, weights: str, seated: Collection[str], now: float) -> list[Effect]:
        """Takes that the members of a Byzantine mesh agreed on `weights`, and who has a seat."""
        self.seated = frozenset(seated)
        if self.open is None or not self.open.groups:
            return []
        self.open.agreed = weights
        self.open.shorten_wait(now)
        return self._settle(now)

    def peer_failed(self, client: str, said: Failed, now: float) -> list[Effect]:
        """Takes that a peer's group has no result for it."""
        heard, member = self._heard_from(client, now), self._member(client)
        if self.open is None or member is None or not self._is_of(member, said.round, said.group):
            return heard
        if member.standing is MeshMemberStage.AVERAGING:
            member.standing = MeshMemberStage.FAILED
            self.open.reasons.append(said.reason)
            self.open.shorten_wait(now)
        return self._settle(now)

    def deposited(self, weights: str) -> list[Effect]:
        """Takes deposited weights, and has them recorded if it waits for them."""
        if not self.wants(weights) or self.depositing is None:
            return []
        self.depositing.arrived = True
        return [RecordWeights(self.depositing.outcome)]

    def wants(self, weights: str) -> bool:
        """Whether it waits for these weights to record them."""
        return self.depositing is not None and self.depositing.wants(weights)

    def recorded(self, version: int, now: float) -> list[Effect]:
        """Takes that the host recorded `version`."""
        if self.depositing is None or version != self.version + 1:
            raise IllegalEventError(f"Version {version} was not requested.")
        outcome = self.depositing.outcome
        self.holdings.recorded = (outcome.round, outcome.weights)
        return self._version_made(version, outcome.seconds, now)

    def not_recorded(self, reason: str, now: float) -> list[Effect]:
        """Takes that the host could not record the version; the round is abandoned."""
        if self.depositing is None:
            raise IllegalEventError("Nothing was to be recorded.")
        return self._abandon(reason, now)

    def cut_short(self, reason: str, now: float) -> list[Effect]:
        """See Rounds. Groups that average still end with a result, but it is not deposited."""
        if self.open is None or self.depositing:
            return []
        return self._abandon(reason, now)

    # Internal.

    def _member(self, client: str) -> Trainee | None:
        return self.open.members.get(client) if self.open else None

    def _is_of(self, member: Trainee, number: int, group: int) -> bool:
        order = member.group
        return order is not None and (order.round, order.group) == (number, group)

    def _report_arrived(self, client: str, member: Trainee, now: float) -> None:
        """Takes a report in time, or one that still counts because the weights are being brought."""
        running, said = self.open, member.averaged
        if running is None or said is None:
            return
        running.shorten_wait(now)
        is_result = any(said.weights == result.weights for result in running.results())
        if self.depositing and is_result and member.trained is not None:
            self.depositing.add_late(client, member.trained, said)
            self.holdings.known[client] = (running.number, said.weights)

    def _heard_from(self, client: str, now: float) -> list[Effect]:
        """Takes a report of any group: a peer that was silent can take part in rounds again."""
        if client not in self._silent:
            return []
        self._silent.discard(client)
        self.attendance.ready(client)
        return self._gather(now)

    def _pass_over_silent(self, running: MeshRound) -> None:
        """Suspends members that did not report the end of their group, until they are heard from."""
        for client in running.silent():
            if client in self.attendance:
                self._silent.add(client)
                self.attendance.suspend(client)

    def _look_back(self, now: float) -> list[Effect]:
        """Abandons a round if peers show a newer result, of a round whose end this server did not see."""
        running = self.open
        if running is None or running.groups or self.depositing:
            return []
        if not self.holdings.unseen(self.attendance.connected):
            return []
        return self._abandon("Peers reported the result of a round whose end this server missed.", now)

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
        self.open = MeshRound(self.round, self.version, now, now + seconds, members, plan.grace, self._rules)
        return [
            MeshRoundOpened(self.round, self.version, clients, seconds),
            *(self.open.order(client, now) for client in clients),
        ]

    def _take_up(self, now: float) -> list[Effect]:
        """Has the result of a round whose end this server did not see deposited and recorded first."""
        self._enter(RoundPhase.AGGREGATING)
        # A round that this server abandoned meanwhile stays recorded so: the result counts as the next round.
        self.round, weights = max(self.round + 1, self.holdings.round), self.holdings.newest
        result, connected = (self.holdings.round, weights), sorted(self.attendance.connected)
        holders = tuple(client for client in connected if self.holdings.known.get(client) == result)
        self.open = MeshRound(self.round, self.version, now, now, {}, self.plan.grace, self._rules)
        self.depositing = taking_up(self.round, self.version, weights, holders, self.plan.deadline, now)
        return [TakeUp(self.round, self.version, holders), *self._ask_again(self.depositing, now)]

    def _members(self, clients: tuple[str, ...]) -> dict[str, Trainee]:
        plan, members = self.plan, dict[str, Trainee]()
        parts = self._assigner.assign(clients, len(clients)) if self._assigner else {}
        for client in clients:
            self.attendance.took_part(client)
            participant, shards = self.attendance[client], parts.get(client, ())
            sizes = plan.shard_examples
            examples = sum(sizes[shard] for shard in shards) if sizes else participant.examples
            work = self._rules.planned_work(plan, examples, participant.step_ms)
            seed = training_seed(client, self.round, plan.seed)
            members[client] = Trainee(self.holdings.base(client), shards, seed, work)
        return members

    def _settle_open(self, running: MeshRound, due: bool, now: float) -> list[Effect]:
        if self.depositing:
            return self._ask_again(self.depositing, now) if due else []
        if due or not running.awaited():
            return self._elect(running, now) if running.groups else self._form(running, now)
        return []

    def _form(self, running: MeshRound, now: float) -> list[Effect]:
        """Forms groups of the peers that trained; late ones must report ready again."""
        for client in running.awaited():
            member = running.members[client]
            member.standing = MeshMemberStage.OUT
            if client in self.attendance and now >= running.until:
                self.attendance.suspend(client)
            if now >= running.until:
                self._speeds.missed(client, member.work.examples, now - running.opened)
        trained = running.trained()
        if len(trained) < self.quorum:
            return self._abandon(f"{len(trained)} of at least {self.quorum} peers trained in time.", now)
        self._enter(RoundPhase.AGGREGATING)
        links = {
            (client, other): link
            for client in trained
            for other, link in self.links.get(client, {}).items()
            if other in trained
        }
        first = self.opening * GROUPS
        groups = self._rules.orders(
            self.averages, trained, self._group_seed, self.round, first, links, self.seated
        )
        running.begin(groups, now)
        orders = (SendGroup(client, group) for group in groups for client in group.members)
        return [GroupsFormed(tuple(groups)), *orders]

    def _elect(self, running: MeshRound, now: float) -> list[Effect]:
        """Ends averaging: asks a survivor of the largest result for it."""
        self._pass_over_silent(running)
        results = running.results()
        if not results:
            reason = running.reasons[0] if running.reasons else "No peer reported a result in time."
            return self._abandon(f"No group averaged. {reason}"[:500], now)
        best = results[0]
        holders = [(client, result.weights) for result in results for client in result.holders]
        self.holdings.made(running.number, best.weights, holders)
        self.depositing = depositing(running, results, self.plan.deadline, now)
        return self._ask_again(self.depositing, now)

    def _ask_again(self, deposit: Depositing, now: float) -> list[Effect]:
        asked = deposit.ask(self.attendance.connected, now)
        if asked is not None:
            return [asked]
        if not deposit.over(now):
            return []
        return self._abandon(
            "The peers averaged and continue from these weights, but none uploaded them for the record.", now
        )

    def _take_back(self, running: MeshRound) -> None:
        """Keeps a round that averaged: peers continue from its weights even without a deposit."""
        if self.depositing is None:
            super()._take_back(running)

    def _close(self, seconds: float) -> None:
        self.depositing = None
        super()._close(seconds)
