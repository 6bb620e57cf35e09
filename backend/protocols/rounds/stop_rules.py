"""The stop rules: decide when a task finishes before its last round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Source: TypeAlias = Literal["server", "clients"]


@dataclass(frozen=True)
class Watched:
    """The figure that rules watch: `loss` or a metric's name, and whether higher is better."""

    name: str = "loss"
    upward: bool = False

    def of(self, loss: float, metrics: Mapping[str, float]) -> float | None:
        """Returns its value in one evaluation; None where the evaluation lacks it."""
        return loss if self.name == "loss" else metrics.get(self.name)

    def better(self, value: float, than: float, by: float = 0.0) -> bool:
        """Whether `value` is better than `than` by more than `by`."""
        return value - than > by if self.upward else than - value > by


LOSS = Watched()


@dataclass(frozen=True)
class StopRules:
    """The rules of a task: a `target` value, and `patience` versions without progress of `min_delta`.

    `seconds` bounds the duration of all rounds together. `source` says whose evaluations count.
    `participations` bounds the rounds of one client, so that its `epsilon` is kept.
    """

    watched: Watched = LOSS
    target: float | None = None
    patience: int | None = None
    min_delta: float = 0.0
    seconds: float | None = None
    source: Source = "server"
    participations: int | None = None
    epsilon: float = 0.0


NO_RULES = StopRules()


@dataclass
class RunProgress:
    """Tracks what the rules watch.

    `spent` is the duration of all rounds in seconds, abandoned ones included. `participations` is the number
    of rounds of the client that took part in most. `averaged`: each evaluation is the mean of all during the
    epoch that made the version, so that it differs from the version's own.
    """

    rules: StopRules
    spent: float = 0.0
    participations: int = 0
    best: float | None = None
    best_at: int = 0
    newest: int = -1
    averaged: bool = False
    reached: str | None = field(default=None, init=False)

    def measured(self, version: int, source: Source, loss: float, metrics: Mapping[str, float]) -> None:
        """Records an evaluation. One of an older version than the newest counts for the target only."""
        watched, rules = self.rules.watched, self.rules
        value = watched.of(loss, metrics)
        if source != rules.source or value is None:
            return
        if rules.target is not None and not watched.better(rules.target, value):
            measured = f"Version {version}"
            if self.averaged:
                measured = f"The mean of all evaluations in the epoch that made version {version}"
            self.reached = f"{measured} reached the target of {rules.target:g}: {watched.name} {value:.6g}."
        if version <= self.newest:
            return
        self.newest = version
        if self.best is None or watched.better(value, self.best, rules.min_delta):
            self.best, self.best_at = value, version

    def reason(self) -> str | None:
        """Returns why the task finishes, as a sentence for people; None while it does not."""
        rules = self.rules
        if self.reached is not None:
            return self.reached
        if rules.patience is not None and self.newest - self.best_at >= rules.patience:
            return (
                f"No progress of {rules.watched.name} in {self.newest - self.best_at} versions "
                f"since version {self.best_at}."
            )
        if rules.participations is not None and self.participations >= rules.participations:
            return (
                f"The privacy budget is spent: after another round epsilon could be over {rules.epsilon:g} "
                f"for a client that was in {self.participations}."
            )
        if rules.seconds is not None and self.spent >= rules.seconds:
            return f"The rounds lasted {self.spent:.0f} of {rules.seconds:g} seconds."
        return None
