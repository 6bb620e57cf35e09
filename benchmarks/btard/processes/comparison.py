"""Compares a training by real processes under attack with a clean one, and with unchecked members."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from backend.lab.svg_curves import Line, draw
from benchmarks.btard.processes.mesh_run import MeshProcesses
from benchmarks.btard.trial import MEASURED, ProcessResult, Trial, TrialResult
from benchmarks.btard.undefended_training import train_undefended

# An attacked training is clean again where it is less than this below the clean one, on the mean of so many
# measurements: single ones of clean trainings differ by as much.
CLEAN_GAP, _AGAIN = 0.02, 3
CLEAN, MEAN, CLIP, BTARD = "clean", "mean", "clip", "btard"
NAMES = {CLEAN: "mean, nobody lies", MEAN: "mean", CLIP: "clipped means alone", BTARD: "BTARD"}

R = TypeVar("R", bound=TrialResult)


@dataclass(frozen=True)
class ProcessComparison:
    """The attacked `trial` by real processes, `browsers` of its honest members pages.

    The clean training and those without checks run in this process, with the same work; with
    `clean_processes` the clean one runs by real processes, too. A radius of the trial is that of updates,
    which are steps at the task's rate. `radius_times` multiplies it; where it is not given, the one that is
    measured before the attack, which then stays. Results are kept in `folder`, and taken from there.
    """

    trial: Trial
    browsers: int
    patience: float
    radius_times: float | None
    clean_processes: bool
    folder: Path | None

    def results(self) -> dict[str, TrialResult]:
        """Trains all; returns the results by defence."""
        trial = self.trial
        honest = replace(trial, byzantine=0, attack=None)
        local = replace(trial, radius=None if trial.radius is None else trial.radius / trial.task.rate)
        results = dict[str, TrialResult]()
        results[MEAN] = self._kept(MEAN, TrialResult, lambda: train_undefended(local, False))
        results[CLIP] = self._kept(CLIP, TrialResult, lambda: train_undefended(local, True))
        if self.clean_processes:
            results[CLEAN] = self._kept(CLEAN, ProcessResult, lambda: self._train(honest))
        else:
            results[CLEAN] = train_undefended(honest, False)
        attacked = replace(trial, radius=self._radius(honest))
        results[BTARD] = self._kept(BTARD, ProcessResult, lambda: self._train(attacked))
        return results

    def _radius(self, honest: Trial) -> float | None:
        """Returns the fixed radius of updates, None to measure it."""
        plan, times = self.trial.attack, self.radius_times
        if times is None or plan is None:
            return self.trial.radius
        if self.trial.radius is not None:
            return times * self.trial.radius
        measured = train_undefended(replace(honest, radius=None), True).radii
        return times * measured[max(0, (plan.start - 1) // MEASURED - 1)] * honest.rate(plan.start)

    def _train(self, trial: Trial) -> ProcessResult:
        with tempfile.TemporaryDirectory(prefix="minga-btard-", ignore_cleanup_errors=True) as folder:
            return MeshProcesses(trial, self.browsers, self.patience).train(Path(folder))

    def _kept(self, name: str, kind: type[R], train: Callable[[], R]) -> R:
        if self.folder is None:
            return train()
        path = self.folder / f"{self._name()}-{name}.json"
        if not path.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(asdict(train())), "utf-8")
        return kind(**json.loads(path.read_text("utf-8")))

    def _name(self) -> str:
        trial, plan = self.trial, self.trial.attack
        attack = f"{plan.name}-{plan.start}-{plan.every}" if plan else CLEAN
        radius = "auto" if trial.radius is None else f"{trial.radius:g}"
        times = "" if self.radius_times is None else f"x{self.radius_times:g}"
        people = f"{trial.byzantine}of{trial.peers}-{self.browsers}pages-m{trial.validators}"
        kind = f"processes-{trial.task.name}-r{trial.rounds}-{people}"
        return f"{kind}-radius{radius}{times}-{attack}-s{trial.seed}"


def comparison_row(comparison: ProcessComparison, results: Mapping[str, TrialResult]) -> dict[str, Any]:
    """Returns the figures that the goals are about, and all curves."""
    plan, attacked = comparison.trial.attack, results[BTARD]
    assert plan is not None
    assert isinstance(attacked, ProcessResult)
    clean = results[CLEAN]
    return {
        "attack": plan.name,
        "start": plan.start,
        "every": plan.every,
        "rounds": comparison.trial.rounds,
        "browsers": comparison.browsers,
        "radius_times": comparison.radius_times,
        "accuracy_clean": round(clean.accuracy, 4),
        "accuracy_attacked": round(attacked.accuracy, 4),
        "accuracy_mean": round(results[MEAN].accuracy, 4),
        "accuracy_clip": round(results[CLIP].accuracy, 4),
        "lowest": round(min(attacked.curve[(plan.start - 1) // MEASURED :], default=0.0), 4),
        "rounds_to_clean": rounds_to_clean(clean.curve, attacked.curve, plan.start),
        "banned": attacked.banned,
        "rounds_to_last_ban": attacked.rounds_to_last_ban,
        "banned_honest": attacked.banned_honest,
        "different_bits": attacked.different_bits,
        "lost": attacked.lost,
        "long_rounds": attacked.long_rounds,
        "seconds_a_round": attacked.seconds_a_round,
        "curves": {name: [round(one, 4) for one in result.curve] for name, result in results.items()},
    }


def rounds_to_clean(clean: Sequence[float], attacked: Sequence[float], start: int) -> int | None:
    """Returns how many rounds after the `start` a training is as good as the clean one again.

    That is 0 if no attacked measurement is CLEAN_GAP below the clean one, None if it is never again. Curves
    have the accuracy after every tenth round.
    """
    first = (start - 1) // MEASURED
    gaps = [one - other for one, other in zip(clean, attacked, strict=False)]
    below = next((place for place in range(first, len(gaps)) if gaps[place] > CLEAN_GAP), None)
    if below is None:
        return 0
    for place in range(below + 1, len(gaps)):
        following = gaps[place : place + _AGAIN]
        if sum(following) / len(following) <= CLEAN_GAP:
            return MEASURED * (place + 1) - start + 1
    return None


def comparison_figure(comparison: ProcessComparison, results: Mapping[str, TrialResult]) -> str:
    """Returns the curves of all trainings as an SVG."""
    trial, plan = comparison.trial, comparison.trial.attack
    assert plan is not None
    lines = []
    for name, text in NAMES.items():
        curve = results[name].curve
        rounds = [MEASURED * (place + 1) for place in range(len(curve))]
        lines.append(Line(text, rounds, curve, curve, curve))
    who = f"{trial.byzantine} of {trial.peers} lie from round {plan.start} on"
    return draw(f"{trial.task.name}: {who} ({plan.name})", "rounds", "accuracy", lines)
