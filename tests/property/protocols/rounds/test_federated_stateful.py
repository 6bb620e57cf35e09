"""Whatever clients do, what is open ends by its deadline, and no update is lost or counted twice."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from backend.errors import NotFiniteError, OrderError, UpdateRefusedError
from backend.formats.manifest import MetricSpec
from backend.protocols.rounds import round_effects
from backend.protocols.rounds.federated import Round
from backend.protocols.rounds.phases import IllegalEventError, RoundPhase
from backend.protocols.rounds.plan import RoundPlan
from backend.protocols.rounds.stop_rules import StopRules
from backend.wire.messages import Aggregation, Evaluation, Offer

LATE = UpdateRefusedError("Your keys did not come in time.")
CLIENTS = st.sampled_from(["a", "b", "c", "d", "e"])
PLANS = st.builds(
    RoundPlan,
    rounds=st.just(4),
    min_available_clients=st.just(2),
    quorum=st.sampled_from([1, 2]),
    deadline=st.just(10.0),
    batch_size=st.just(2),
    update_bytes=st.just(8),
    seed=st.integers(0, 3),
    fraction_train=st.sampled_from([0.5, 1.0]),
    min_train_clients=st.just(2),
    over_selection=st.sampled_from([0.0, 0.5]),
    gather=st.sampled_from([0.0, 1.0]),
    min_deadline=st.sampled_from([0.0, 3.0]),
    adaptive_deadline=st.booleans(),
    steps=st.sampled_from([0, 3]),
    shard_examples=st.sampled_from([(3, 4, 5), ()]),
    shards_per_client=st.just(2),
    metrics=st.just((MetricSpec("accuracy"),)),
    fraction_evaluate=st.sampled_from([0.0, 0.5, 1.0]),
    evaluate_every=st.sampled_from([1, 2]),
    holdout_examples=st.sampled_from([(), (4, 6)]),
    aggregation=st.sampled_from([("open",), ("masked",), ("masked", "open")]),
    masked_bytes=st.just(8),
    most_masked=st.just(10),
    attackers=st.sampled_from([0, 1]),
    stop=st.builds(
        StopRules,
        target=st.sampled_from([None, 0.1]),
        patience=st.sampled_from([None, 1]),
        seconds=st.sampled_from([None, 25.0]),
        source=st.sampled_from(["server", "clients"]),
    ),
).filter(lambda plan: plan.attackers < plan.quorum)


class Host(RuleBasedStateMachine):
    """Does to the machine what a host may do, in any order, and keeps its own books."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.opened_at = 0.0
        self.asked_at = 0.0
        self.granted: set[tuple[str, int]] = set()
        self.cohort: tuple[str, ...] = ()
        self.wanted = 0
        self.accepted: dict[int, list[str]] = {}
        self.refused: dict[int, set[str]] = {}
        self.measured: list[int] = []
        self.ended: list[int] = []
        self.finished = 0
        self.held = False

    def note(self, effects: list[round_effects.Effect]) -> None:
        for effect in effects:
            match effect:
                case round_effects.AnnounceRound():
                    self.opened(effect)
                case round_effects.SendRoundTrain():
                    assert effect.client in self.cohort
                    assert 0 <= effect.seconds <= self.plan.deadline + 1e-9
                case round_effects.SendEvaluate():
                    assert 0 <= effect.seconds <= self.plan.deadline + 1e-9
                    assert bool(effect.shards) == bool(self.plan.holdout_examples)
                case round_effects.GrantUpload():
                    self.granted.add((effect.client, effect.offer.round))
                case round_effects.Accept():
                    assert effect.client in self.cohort
                    assert (effect.client, effect.offer.round) in self.granted
                    self.accepted.setdefault(effect.offer.round, []).append(effect.client)
                    assert len(self.accepted[effect.offer.round]) <= self.wanted
                case round_effects.RefuseUpdate():
                    self.refused.setdefault(effect.round, set()).add(effect.client)
                case round_effects.Aggregate():
                    accepted, refused = self.accepted[effect.round], self.refused.get(effect.round, set())
                    false = refused & set(self.cohort) - set(accepted)
                    assert effect.false_updates <= min(self.plan.attackers, len(false))
                    assert len(accepted) >= self.plan.quorum - effect.false_updates
                    self.ended.append(effect.round)
                case round_effects.Abandon() if effect.round not in self.ended:
                    self.ended.append(effect.round)
                case round_effects.RecordEvaluation():
                    assert 0 < effect.clients <= effect.examples
                    self.measured.append(effect.version)
                case round_effects.Finished():
                    assert effect.reason
                    self.finished += 1

    def opened(self, opened: round_effects.AnnounceRound) -> None:
        assert not self.held
        self.opened_at, self.cohort, self.wanted = self.now, opened.cohort, opened.wanted
        assert {self.kind(client) for client in opened.cohort} == {opened.aggregation}
        assert len(opened.cohort) >= opened.wanted >= 2
        assert opened.available >= max(len(opened.cohort), self.plan.min_available_clients)
        assert self.plan.min_deadline - 1e-9 <= opened.seconds <= self.plan.deadline + 1e-9

    def kind(self, client: str) -> Aggregation:
        """How a client's updates are added up, wherever it can choose: the first three mask."""
        kinds = self.plan.aggregation
        return kinds[0] if client in "abc" else kinds[-1]

    @initialize(plan=PLANS, clients=st.sets(CLIENTS, min_size=2))
    def begin(self, plan: RoundPlan, clients: set[str]) -> None:
        self.plan = plan
        self.machine = Round(plan)
        for client in sorted(clients):
            self.join_and_be_ready(client, 4, 1.0)
        self.wait(1.0)

    @rule(client=CLIENTS, twice=st.booleans())
    def deliver(self, client: str, twice: bool) -> None:
        if client in self.machine.attendance:
            self.offer(client, late=0, examples=1, size=8)
            self.finish_upload(client, good=True)
            if twice:
                self.arrive_again(client, self.machine.round)

    @rule(client=CLIENTS, examples=st.integers(0, 5), step_ms=st.sampled_from([1.0, 1e3, 1e300]))
    def join_and_be_ready(self, client: str, examples: int, step_ms: float) -> None:
        if client not in self.machine.attendance:
            self.machine.client_joined(client, self.kind(client))
        self.note(self.machine.client_ready(client, self.now, step_ms, examples))

    @rule(client=CLIENTS, lost=st.booleans())
    def leave(self, client: str, lost: bool) -> None:
        if client in self.machine.attendance:
            self.note(self.machine.client_left(client, self.now, lost))

    @rule(
        client=CLIENTS,
        late=st.integers(0, 1),
        examples=st.integers(-1, 12),
        size=st.sampled_from([8, 8, 8, 4]),
    )
    def offer(self, client: str, late: int, examples: int, size: int) -> None:
        if client in self.machine.attendance:
            number, told = max(0, self.machine.round - late), self.kind(client) == "open"
            offer = Offer(
                round=number,
                version=self.machine.version,
                examples=examples if told else 0,
                steps=1 if told else 0,
                loss=0.0,
                sums=[(1.0, 2.0)] if told else [],
                size=size,
            )
            self.note(self.machine.update_offered(client, offer, self.now))

    @rule(client=CLIENTS, good=st.booleans())
    def finish_upload(self, client: str, good: bool) -> None:
        member = self.machine.open.members.get(client) if self.machine.open else None
        if member is None or member.standing != "sending" or self.machine.phase is not RoundPhase.TRAINING:
            return
        number = self.machine.round
        self.note(
            self.machine.update_arrived(client, number, self.now, None if good else NotFiniteError("NaN."))
        )
        self.arrive_again(client, number)

    def arrive_again(self, client: str, number: int) -> None:
        """An update that nobody sends is the host's mistake in its round, and nothing after it."""
        if self.machine.open and self.machine.phase is RoundPhase.TRAINING and number == self.machine.round:
            member = self.machine.open.members.get(client)
            if member is None or member.standing != "sending":
                with pytest.raises(IllegalEventError):
                    self.machine.update_arrived(client, number, self.now)
        else:
            assert self.machine.update_arrived(client, number, self.now) == []

    @rule(
        client=CLIENTS,
        version=st.integers(0, 4),
        examples=st.integers(0, 8),
        loss=st.sampled_from([0.05, 1.0, float("nan")]),
        rows=st.sampled_from([1, 1, 2]),
    )
    def evaluate(self, client: str, version: int, examples: int, loss: float, rows: int) -> None:
        if client in self.machine.attendance:
            report = Evaluation(
                round=self.machine.round,
                version=version,
                examples=examples,
                loss=loss,
                sums=[(1.0, 2.0)] * rows,
            )
            self.note(self.machine.evaluation_arrived(client, report, self.now))

    @rule(client=CLIENTS, late=st.integers(0, 1))
    def exclude(self, client: str, late: int) -> None:
        if client in self.machine.attendance:
            number = max(0, self.machine.round - late)
            self.note(self.machine.member_excluded(client, number, LATE, self.now))

    @rule(late=st.integers(0, 1))
    def fail(self, late: int) -> None:
        self.note(self.machine.training_failed(max(0, self.machine.round - late), "Too few keys.", self.now))

    @rule(loss=st.floats(0.0, 2.0))
    def evaluate_on_the_server(self, loss: float) -> None:
        self.note(self.machine.version_evaluated(self.machine.version, "server", loss, {}))

    @precondition(lambda self: self.machine.version > 1)
    @rule()
    def stop(self) -> None:
        self.note(self.machine.stop_requested("The owner has enough."))
        assert self.machine.phase not in (RoundPhase.WAITING, RoundPhase.GATHERING, RoundPhase.PAUSED)

    @rule(cut=st.booleans())
    def pause(self, cut: bool) -> None:
        self.held = True
        self.note(self.machine.pause_requested())
        if cut:
            self.note(self.machine.cut_short("The owner paused the training.", self.now))
            assert self.machine.phase is not RoundPhase.TRAINING

    @rule()
    def resume(self) -> None:
        self.held = False
        ended = self.machine.phase is RoundPhase.FINISHED
        effects = self.machine.resume_requested(self.now)
        if ended and self.machine.phase is not RoundPhase.FINISHED:
            self.finished -= 1
        self.note(effects)
        assert self.machine.phase is not RoundPhase.PAUSED

    @rule(seconds=st.floats(0.0, 12.0))
    def wait(self, seconds: float) -> None:
        until = self.now + seconds
        while (timer := self.machine.timer()) is not None and timer <= until:
            self.now = max(self.now, timer)
            before = (self.machine.phase, self.machine.round, timer)
            self.note(self.machine.time_passed(self.now))
            assert before != (self.machine.phase, self.machine.round, self.machine.timer())
        self.now = until

    @precondition(lambda self: self.machine.phase is RoundPhase.AGGREGATING)
    @rule(works=st.booleans())
    def aggregate(self, works: bool) -> None:
        if works:
            effects = self.machine.aggregated(self.machine.version + 1, self.now)
            self.asked_at = self.now
            self.note(effects)
        elif self.machine.open is None:
            self.note(self.machine.restoring_failed(self.now))
        else:
            self.note(self.machine.aggregation_failed("The disk is full.", self.now))

    @rule()
    def restore(self) -> None:
        number, phase = self.machine.round, self.machine.phase
        try:
            effects = self.machine.restore_requested("The owner went back.", self.now)
        except OrderError:
            assert (self.machine.round, self.machine.phase) == (number, phase)
            return
        self.note(effects)
        assert effects[-1] == round_effects.Restore(number + 1)
        assert self.machine.phase is RoundPhase.AGGREGATING
        assert [one.round for one in effects if isinstance(one, round_effects.Abandon)] == (
            [number] if phase is RoundPhase.TRAINING else []
        )

    @invariant()
    def what_is_open_ends_by_its_deadline(self) -> None:
        open_since = {RoundPhase.TRAINING: self.opened_at, RoundPhase.EVALUATING: self.asked_at}
        if self.machine.phase in open_since:
            latest = open_since[self.machine.phase] + self.plan.deadline
            timer, deadline = self.machine.timer(), self.machine.deadline()
            assert timer is not None
            assert deadline is not None
            assert self.now <= timer + 1e-9
            assert timer <= deadline <= latest + 1e-9

    @invariant()
    def nobody_waits_for_what_has_happened(self) -> None:
        if self.machine.phase is RoundPhase.WAITING:
            assert self.machine.needed()
            assert not self.held
        if self.machine.phase is RoundPhase.PAUSED:
            assert self.held
            assert self.machine.timer() is None
        if self.machine.phase in (RoundPhase.TRAINING, RoundPhase.EVALUATING):
            asked, done = self.machine.reports()
            assert done <= asked

    @invariant()
    def no_update_counts_twice(self) -> None:
        assert all(len(set(clients)) == len(clients) for clients in self.accepted.values())

    @invariant()
    def rounds_end_once_and_in_order(self) -> None:
        assert self.ended == sorted(set(self.ended))

    @invariant()
    def versions_are_measured_once_and_in_order(self) -> None:
        assert self.measured == sorted(set(self.measured))

    @invariant()
    def a_task_has_no_more_versions_than_rounds(self) -> None:
        assert self.machine.version <= self.plan.rounds
        if self.machine.version == self.plan.rounds:
            assert self.machine.phase in (RoundPhase.EVALUATING, RoundPhase.FINISHED)
        if self.machine.phase is RoundPhase.FINISHED:
            assert self.machine.reason_to_finish()
        assert self.finished == (self.machine.phase is RoundPhase.FINISHED)


TestRounds = Host.TestCase
TestRounds.settings = settings(max_examples=150, stateful_step_count=40)
