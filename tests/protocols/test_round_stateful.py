"""Whatever clients do, rounds end by their deadline and no update counts twice."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from backend.errors import NotFiniteError
from backend.protocols import effects as do
from backend.protocols.round import Phase, Plan, Round
from backend.wire.messages import Offer

CLIENTS = st.sampled_from(["a", "b", "c", "d"])
PLAN = Plan(
    rounds=4,
    min_available_clients=2,
    quorum=2,
    deadline=10.0,
    gather=1.0,
    epochs=1,
    shard_examples=(3, 4, 5),
    shards_per_client=2,
    update_bytes=8,
    metric_rows=1,
    seed=0,
)


class Host(RuleBasedStateMachine):
    """Does to the machine what a host may do, in any order, and keeps its own books."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = Round(PLAN)
        self.now = 0.0
        self.opened_at = 0.0
        self.granted: set[tuple[str, int]] = set()
        self.accepted: dict[int, list[str]] = {}
        self.ended: list[int] = []

    def note(self, effects: list[do.Effect]) -> None:
        for effect in effects:
            match effect:
                case do.Opened():
                    self.opened_at = self.now
                    assert len(effect.cohort) >= PLAN.min_available_clients
                case do.Grant():
                    self.granted.add((effect.client, effect.offer.round))
                case do.Accept():
                    assert (effect.client, effect.offer.round) in self.granted
                    self.accepted.setdefault(effect.offer.round, []).append(effect.client)
                case do.Aggregate():
                    assert len(self.accepted[effect.round]) >= PLAN.quorum
                    self.ended.append(effect.round)
                case do.Abandon() if effect.round not in self.ended:
                    self.ended.append(effect.round)

    @initialize(clients=st.sets(CLIENTS, min_size=2))
    def begin(self, clients: set[str]) -> None:
        for client in sorted(clients):
            self.join_and_be_ready(client)
        self.wait(1.0)

    @rule(client=CLIENTS, twice=st.booleans())
    def deliver(self, client: str, twice: bool) -> None:
        if client in self.machine.ready:
            self.offer(client, late=0, examples=1, size=8)
            self.finish_upload(client, good=True)
            if twice:
                self.note(self.machine.update_checked(client, self.machine.round, self.now))

    @rule(client=CLIENTS)
    def join_and_be_ready(self, client: str) -> None:
        if client not in self.machine.ready:
            self.machine.client_joined(client)
        self.note(self.machine.client_ready(client, self.now))

    @rule(client=CLIENTS, lost=st.booleans())
    def leave(self, client: str, lost: bool) -> None:
        if client in self.machine.ready:
            self.note(self.machine.client_left(client, self.now, lost))

    @rule(
        client=CLIENTS,
        late=st.integers(0, 1),
        examples=st.integers(-1, 12),
        size=st.sampled_from([8, 8, 8, 4]),
    )
    def offer(self, client: str, late: int, examples: int, size: int) -> None:
        if client in self.machine.ready:
            number = max(0, self.machine.round - late)
            offer = Offer(
                round=number,
                version=self.machine.version,
                examples=examples,
                steps=1,
                loss=0.0,
                sums=[(1.0, 2.0)],
                size=size,
            )
            self.note(self.machine.update_offered(client, offer, self.now))

    @rule(client=CLIENTS, good=st.booleans())
    def finish_upload(self, client: str, good: bool) -> None:
        member = self.machine.members.get(client)
        if member is None or member.standing != "sending":
            return
        number = self.machine.round
        self.note(self.machine.update_arrived(client, number))
        if good:
            self.note(self.machine.update_checked(client, number, self.now))
            self.note(self.machine.update_checked(client, number, self.now))
        else:
            self.note(self.machine.update_failed(client, number, NotFiniteError("NaN."), self.now))

    @rule(seconds=st.floats(0.0, 12.0))
    def wait(self, seconds: float) -> None:
        until = self.now + seconds
        while (timer := self.machine.timer()) is not None and timer <= until:
            self.now = max(self.now, timer)
            self.note(self.machine.time_passed(self.now))
        self.now = until

    @precondition(lambda self: self.machine.phase is Phase.AGGREGATING)
    @rule(works=st.booleans())
    def aggregate(self, works: bool) -> None:
        if works:
            self.note(self.machine.aggregated(self.machine.version + 1, self.now))
        else:
            self.note(self.machine.aggregation_failed("The disk is full.", self.now))

    @invariant()
    def a_round_ends_by_its_deadline(self) -> None:
        if self.machine.phase is Phase.TRAINING:
            assert self.now <= self.opened_at + PLAN.deadline
            timer = self.machine.timer()
            assert timer is not None
            assert timer <= self.opened_at + PLAN.deadline

    @invariant()
    def no_update_counts_twice(self) -> None:
        assert all(len(set(clients)) == len(clients) for clients in self.accepted.values())

    @invariant()
    def rounds_end_once_and_in_order(self) -> None:
        assert self.ended == sorted(set(self.ended))

    @invariant()
    def a_task_has_no_more_versions_than_rounds(self) -> None:
        assert self.machine.version <= PLAN.rounds
        assert (self.machine.phase is Phase.FINISHED) == (self.machine.version == PLAN.rounds)


TestRounds = Host.TestCase
TestRounds.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
