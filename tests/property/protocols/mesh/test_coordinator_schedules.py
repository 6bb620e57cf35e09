"""Seeded schedules of peers that come, go, train, lie and report, against the coordinator of their mesh."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest

from backend.protocols.mesh import coordinator_effects
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.rounds.phases import RoundPhase
from backend.protocols.rounds.round_effects import Abandon, Finished
from backend.wire.mesh_messages import Failed, Group
from tests.support.protocols.mesh_coordinator import AVERAGES, ZERO, client, proven, report, said
from tests.support.protocols.rounds import PLAN

PEERS, STEPS = 9, 400


@dataclass
class Play:
    """One schedule: what was told to whom, and what must never be."""

    machine: MeshCoordinator
    chance: random.Random
    now: float = 0.0
    here: set[str] = field(default_factory=set)
    groups: dict[str, Group] = field(default_factory=dict)
    ended: list[int] = field(default_factory=list)
    held: bool = False

    def step(self) -> None:
        """Something happens, after some time."""
        self.now += self.chance.choice([0.0, 0.1, 2.0, 8.0])
        timer = self.machine.timer()
        if timer is not None and timer <= self.now:
            self.look(self.machine.time_passed(self.now))
        name = client(self.chance.randrange(PEERS))
        act = self.chance.choice(
            [self.come, self.come, self.train, self.train, self.end, self.end, self.bring]
        )
        act(name) if self.chance.random() < 0.95 else self.go(name)
        if self.chance.random() < 0.02:
            self.pause_or_resume()

    def come(self, name: str) -> None:
        """A peer enters, or says that it is ready."""
        if name not in self.here:
            self.here.add(name)
            shown = proven(self.machine.round, "9" * 64) if self.chance.random() < 0.1 else None
            self.look(self.machine.peer_entered(name, self.now, shown))
        self.look(self.machine.client_ready(name, self.now, 1.0, 0))

    def pause_or_resume(self) -> None:
        """The owner wants no round to open, or rounds again."""
        self.held = not self.held
        if not self.held:
            self.look(self.machine.resume_requested(self.now))
            return
        self.look(self.machine.pause_requested())
        if self.chance.random() < 0.5:
            self.look(self.machine.cut_short("The owner paused the training.", self.now))

    def go(self, name: str) -> None:
        """A peer leaves, or is lost."""
        if name in self.here:
            self.here.remove(name)
            self.look(self.machine.client_left(name, self.now, lost=self.chance.random() < 0.7))

    def train(self, name: str) -> None:
        """A member has trained, and may say what cannot be."""
        opened = self.machine.open
        if name in self.here and opened is not None and name in opened.members:
            lie = {"examples": 10**9} if self.chance.random() < 0.05 else {}
            self.look(self.machine.peer_trained(name, said(self.machine, name, **lie), self.now))

    def end(self, name: str) -> None:
        """A member reports what its group ended with; some have failed, few say something else."""
        group = self.groups.get(name)
        if name not in self.here or group is None:
            return
        if self.chance.random() < 0.1:
            failed = Failed(round=group.round, group=group.group, reason="Gone.")
            self.look(self.machine.peer_failed(name, failed, self.now))
            return
        odd = self.chance.random() < 0.05
        told = report(group, weights=f"{group.round * 100 + group.group % 100 + 50 * odd:064x}")
        self.look(self.machine.peer_averaged(name, told, self.now))

    def bring(self, _name: str) -> None:
        """Whoever is asked for weights brings them, and they are recorded or not."""
        deposit = self.machine.depositing
        if deposit is None or deposit.arrived:
            return
        self.look(self.machine.deposited(deposit.outcome.weights))
        if self.chance.random() < 0.9:
            self.ended.append(deposit.outcome.round)
            self.look(self.machine.recorded(self.machine.version + 1, self.now))
        else:
            self.look(self.machine.not_recorded("Full.", self.now))

    def look(self, effects: list[coordinator_effects.Effect]) -> None:
        """What must hold of everything that the coordinator asks for."""
        for effect in effects:
            match effect:
                case coordinator_effects.MeshRoundOpened():
                    assert not self.held
                    assert set(effect.cohort) <= self.here
                    assert len(effect.cohort) >= max(2, self.machine.plan.min_available_clients)
                    self.groups = {}
                case coordinator_effects.SendMeshTrain() | coordinator_effects.AskDeposit():
                    assert effect.client in self.here
                case coordinator_effects.SendGroup():
                    group = effect.group
                    assert effect.client in group.members
                    assert len(set(group.members)) == len(group.members) <= AVERAGES.group_size
                    assert self.groups.get(effect.client, group) == group
                    self.groups[effect.client] = group
                case coordinator_effects.RecordWeights():
                    self.check(effect.outcome)
                case Abandon():
                    self.ended.append(effect.round)
                case Finished():
                    assert self.machine.phase is RoundPhase.FINISHED

    def check(self, outcome: coordinator_effects.MeshOutcome) -> None:
        """A result is what a majority of a group's survivors reported."""
        if not outcome.averaged:
            assert outcome.weights == "9" * 64, "Without the server peers made nothing else."
            return
        same = [name for name, one in outcome.averaged.items() if one.weights == outcome.weights]
        survivors = outcome.averaged[same[0]].survivors
        assert 2 * len(same) > len(survivors)
        assert len({self.groups[name].group for name in same}) == 1
        assert outcome.trained.keys() == outcome.averaged.keys()


@pytest.mark.parametrize("seed", range(60))
def test_whatever_peers_do_results_are_a_majoritys_and_rounds_end_one_after_the_other(seed: int) -> None:
    chance = random.Random(seed)
    plan = replace(PLAN, rounds=40, min_available_clients=chance.choice([2, 3, 5]), gather=1.0)
    averages = replace(AVERAGES, group_size=chance.choice([3, 8]), quorum=chance.choice([1, 3]), seconds=20.0)
    play = Play(MeshCoordinator(plan, averages, ZERO), chance)
    for _ in range(STEPS):
        play.step()
    assert play.ended == sorted(set(play.ended))
    # Nothing hangs: with all here and honest, rounds go on.
    version = play.machine.version
    if play.held:
        play.pause_or_resume()
    for name in map(client, range(PEERS)):
        play.come(name)
    for _ in range(30):
        timer = play.machine.timer()
        if timer is not None:
            play.now = max(play.now, timer)
            play.look(play.machine.time_passed(play.now))
        for name in map(client, range(PEERS)):
            play.come(name)
            play.train(name)
        for name in map(client, range(PEERS)):
            play.end(name)
        play.bring("")
    assert play.machine.version > version or play.machine.phase is RoundPhase.FINISHED
