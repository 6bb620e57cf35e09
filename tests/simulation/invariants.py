"""What holds in every run, whatever happens to clients and server."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np

from backend.services.taskfile.server_optimizer import FedAvg, FedAvgM
from backend.stores.contracts import RoundResult
from tests.simulation.playing import Evidence
from tests.simulation.replay import Replay
from tests.simulation.watching import Sent


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
        for sent in counted_updates(evidence, life, result):
            vector = np.frombuffer(sent.vector, "<f4").astype(np.float64)
            assert len(vector) == size
            assert math.sqrt(float(vector @ vector)) <= most
            assert 1 <= sent.offer.examples <= evidence.task.shards.examples * 1000


def every_version_is_the_replay_of_its_updates(evidence: Evidence) -> None:
    """The weights of each version are, to the bit, what plain numpy makes of the accepted updates."""
    chosen = evidence.task.file.coordination.server_optimizer
    assert isinstance(chosen, FedAvg | FedAvgM)
    trainable = evidence.task.bundle.manifest.parameters.trainable
    replay = Replay(np.frombuffer(evidence.weights[0], "<f4"))
    made = {result.round.round: (life, result) for life, result in evidence.witness.recorded}
    for version in evidence.versions[1:]:
        if version.round not in made:
            return  # Recorded while the server was killed: nobody is left who knows what it was made of.
        updates = counted_updates(evidence, *made[version.round])
        replay.step([(one.vector, one.offer.examples) for one in updates], trainable, chosen)
        assert evidence.weights[version.version] == replay.weights.astype("<f4").tobytes(), version


def the_task_goes_on_when_trouble_ends(evidence: Evidence) -> None:
    """Nothing that happened keeps sound clients from making the next versions."""
    assert not evidence.stuck, f"no versions after {evidence.settled}"


def counted_updates(evidence: Evidence, life: int, result: RoundResult) -> list[Sent]:
    """The updates, as they were sent, that a version was made of."""
    counted = [one for one in result.contributions if one.accepted]
    updates = []
    for one in counted:
        sent = evidence.witness.sent[life, one.client, result.round.round]
        # Somebody may send the same again; what is sent after it was accepted must change nothing.
        different = len({update.vector for update in sent})
        assert different == 1, f"{one.client}: {different} whole updates in round {result.round.round}"
        assert sent[0].offer.examples == one.examples
        updates.append(sent[0])
    return updates


INVARIANTS: tuple[Callable[[Evidence], None], ...] = (
    every_round_ends_by_its_deadline,
    rounds_and_versions_are_recorded_once_and_in_order,
    what_was_recorded_stays,
    no_update_counts_twice,
    sums_of_contributions_are_those_of_the_rounds,
    only_sound_updates_count,
    every_version_is_the_replay_of_its_updates,
    the_task_goes_on_when_trouble_ends,
)


def check(evidence: Evidence) -> None:
    """All of them. Raises AssertionError for the first that does not hold."""
    for invariant in INVARIANTS:
        invariant(evidence)
