"""What holds in every run, whatever happens to clients and server."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import accumulate

import msgspec
import numpy as np

from tests.property.simulation.replay import Accepted, Replay
from tests.property.simulation.simulated_run import Evidence
from tests.property.simulation.witnesses import Sent

# No plan of a schedule asks for more.
MOST_EXAMPLES = 200


def every_round_ends_by_its_deadline(evidence: Evidence) -> None:
    """The time from a round's opening to its end is never over the task file's deadline."""
    for one in evidence.rounds:
        assert one.seconds <= evidence.task.file.coordination.deadline + 1e-6, one


def rounds_and_versions_are_recorded_once_and_in_order(evidence: Evidence) -> None:
    """Rounds grow, versions follow each other, and each is of a round that made it."""
    numbers = [one.round for one in evidence.rounds]
    assert numbers == sorted(set(numbers))
    assert [one.version for one in evidence.versions] == list(range(len(evidence.versions)))
    made = [one.round for one in evidence.rounds if one.outcome == "version"]
    assert made == [one.round for one in evidence.versions[1:]]


def what_was_recorded_stays(evidence: Evidence) -> None:
    """Everything whose recording returned is there at the end; no restart took it away."""
    assert len(evidence.rounds) >= len(evidence.witness.recorded)
    rounds = {one.round: one for one in evidence.rounds}
    for _, result in evidence.witness.recorded:
        assert rounds[result.round.round] == result.round
        if result.version is not None:
            assert evidence.versions[result.version.version] == result.version


def no_update_counts_twice(evidence: Evidence) -> None:
    """A version names each client once, and says truly how many updates and examples are in it."""
    for _, result in evidence.witness.recorded:
        counted = [one.client for one in result.contributions if one.accepted]
        assert len(set(counted)) == len(counted)
        assert all(one.accepted in (0, 1) for one in result.contributions)
        if result.version is not None:
            assert result.version.accepted == len(counted) >= evidence.task.file.coordination.quorum
            assert result.version.examples == sum(one.examples for one in result.contributions)


def sums_of_contributions_are_those_of_the_rounds(evidence: Evidence) -> None:
    """Nobody's credit was lost or given twice."""
    if len(evidence.rounds) != len(evidence.witness.recorded):
        return  # A crash between the recording and its witness.
    accepted: Counter[str] = Counter()
    examples: Counter[str] = Counter()
    for _, result in evidence.witness.recorded:
        for one in result.contributions:
            accepted[one.client] += one.accepted
            examples[one.client] += one.examples
    assert {one.client: one.accepted for one in evidence.contributions} == dict(accepted)
    assert {one.client: one.examples for one in evidence.contributions} == dict(examples)


def only_sound_updates_count(evidence: Evidence) -> None:
    """What counts was sent whole, in that round, is finite and within the bound."""
    size, most = evidence.task.bundle.manifest.parameters.total, evidence.task.file.security.max_update_norm
    for life, result in evidence.witness.recorded:
        for one in (one for one in result.contributions if one.accepted):
            sent = sent_update(evidence, life, one.client, result.round.round)
            vector = np.frombuffer(sent.vector, "<f4").astype(np.float64)
            assert sent.offer.examples == one.examples
            assert len(vector) == size
            assert math.sqrt(float(vector @ vector)) <= most
            assert 1 <= sent.offer.examples <= MOST_EXAMPLES


def no_accepted_update_is_lost(evidence: Evidence) -> None:
    """Who was told that an update counts is in the version that its round made, and nobody else is."""
    for life, result in evidence.witness.recorded:
        accepted = evidence.witness.accepted[life, result.round.round]
        assert len(accepted) == len(set(accepted)) == result.round.accepted
        if result.version is not None:
            assert {one.client for one in result.contributions if one.accepted} == set(accepted)


def no_round_takes_more_than_it_wants(evidence: Evidence) -> None:
    """A round ends with the updates that it was to bring; a reserve adds clients, not updates."""
    plan = evidence.task.file.coordination
    most = max(math.floor(plan.fraction_train * evidence.clients + 1e-9), plan.min_train_clients)
    for one in evidence.rounds:
        assert one.accepted <= min(most, one.cohort)
        assert one.cohort <= math.ceil(most * (1 + plan.over_selection) - 1e-9)


def every_version_is_the_replay_of_its_updates(evidence: Evidence) -> None:
    """The weights of each version are, to the bit, what plain numpy makes of the accepted updates."""
    task = evidence.task
    replay = Replay(
        weights=np.frombuffer(evidence.weights[0], "<f4"),
        trainable=task.bundle.manifest.parameters.trainable,
        settings=msgspec.to_builtins(task.file.coordination.server_optimizer),
        learning_rate=task.learning_rate,
    )
    if task.file.training.control_variates:
        replay.control = np.zeros(replay.trainable, np.float32)
    for version in evidence.versions[1:]:
        # A round that was broken off with its server was opened again by the next one.
        life = max(life for life, number in evidence.witness.accepted if number == version.round)
        updates = [
            sent_update(evidence, life, client, version.round)
            for client in evidence.witness.accepted[life, version.round]
        ]
        replay.step([_accepted(one) for one in updates])
        assert version.accepted == len(updates)
        assert version.examples == sum(one.offer.examples for one in updates)
        assert evidence.weights[version.version] == replay.weights.astype("<f4").tobytes(), version
        if replay.control is not None:
            assert evidence.controls[version.version] == replay.control.astype("<f4").tobytes(), version


def evaluations_are_what_clients_measured(evidence: Evidence) -> None:
    """A version's loss lies among those that clients reported of it, and counts no example twice."""
    for one in evidence.evaluations:
        reports = [report for report in evidence.witness.measured[one.version] if report.examples]
        losses = [report.loss for report in reports]
        assert min(losses) - 1e-9 <= one.loss <= max(losses) + 1e-9
        assert one.examples <= max(1, len(reports)) * max(report.examples for report in reports)


def a_task_is_finished_by_its_rules_alone(evidence: Evidence) -> None:
    """It ends with its last version, a target that was reached, no progress, or no time; and not later."""
    plan = evidence.task.file.coordination
    stop, made = plan.stop, len(evidence.versions) - 1
    spent = list(accumulate(one.seconds for one in evidence.rounds))
    assert made <= plan.rounds
    out_of_time = stop.seconds is not None and bool(spent) and spent[-1] >= stop.seconds
    assert not any(stop.seconds is not None and before >= stop.seconds for before in spent[:-1])
    target = stop.target
    reached = [
        one.version for one in evidence.evaluations if target and one.metrics[target.metric] >= target.value
    ]
    # Tasks with shards held out wait for the server's own evaluations, of which there are none here.
    own = evidence.task.file.data.own is not None
    if own and reached:
        assert min(reached) == made
    stale = own and stop.patience is not None and made >= stop.patience
    if evidence.finished:
        assert made == plan.rounds or out_of_time or (own and reached) or stale
    elif own and reached:
        raise AssertionError(f"Version {min(reached)} reached the target, and the task goes on.")


def the_task_goes_on_when_trouble_ends(evidence: Evidence) -> None:
    """Nothing that happened keeps sound clients from making the next versions."""
    assert not evidence.stuck, f"no versions after {evidence.settled}"


def sent_update(evidence: Evidence, life: int, client: str, number: int) -> Sent:
    """The update of round `number`, as it was sent."""
    sent = evidence.witness.sent[life, client, number]
    # Somebody may send the same again; what is sent after it was accepted must change nothing.
    different = len({update.vector for update in sent})
    assert different == 1, f"{client}: {different} whole updates in round {number}"
    return sent[0]


def _accepted(sent: Sent) -> Accepted:
    return Accepted(
        client=sent.client,
        values=np.frombuffer(sent.vector, "<f4"),
        examples=sent.offer.examples,
        steps=sent.offer.steps,
    )


INVARIANTS: tuple[Callable[[Evidence], None], ...] = (
    every_round_ends_by_its_deadline,
    rounds_and_versions_are_recorded_once_and_in_order,
    what_was_recorded_stays,
    no_update_counts_twice,
    sums_of_contributions_are_those_of_the_rounds,
    only_sound_updates_count,
    no_accepted_update_is_lost,
    no_round_takes_more_than_it_wants,
    every_version_is_the_replay_of_its_updates,
    evaluations_are_what_clients_measured,
    a_task_is_finished_by_its_rules_alone,
    the_task_goes_on_when_trouble_ends,
)


def check(evidence: Evidence) -> None:
    """All of them. Raises AssertionError for the first that does not hold."""
    for invariant in INVARIANTS:
        invariant(evidence)
