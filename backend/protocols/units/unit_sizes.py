"""Units of sizes that suit their clients: what is too much for one is halved."""

from __future__ import annotations

from dataclasses import dataclass, replace

from backend.protocols.units.scheduler_effects import UnitId, WorkUnit


@dataclass(frozen=True)
class SizeRules:
    """A unit should take its client `seconds` at most; 0: units stay whole.

    Halves begin at multiples of `grain` rows, which is a batch, and nothing is halved more than `halvings`
    times: who says that it is slow costs the others no more than that.
    """

    seconds: float = 0.0
    grain: int = 1
    halvings: int = 3

    def __post_init__(self) -> None:
        if self.seconds < 0.0 or self.grain < 1 or self.halvings < 0:
            raise ValueError("seconds and halvings are not negative, and grain is at least 1")


def suits(seconds: float | None, rules: SizeRules) -> bool:
    """Whether a unit that takes `seconds` is no more than a client should have; None is not known."""
    return not rules.seconds or seconds is None or seconds <= rules.seconds


def parts(
    work: WorkUnit, seconds: float | None, halved: int, rules: SizeRules, number: UnitId
) -> list[WorkUnit]:
    """`work` so halved that its first part suits a client whom it would take `seconds`; the smallest first.

    The first part keeps the number of the unit, the others get `number` and those that follow.
    """
    rest: list[WorkUnit] = []
    while not suits(seconds, rules) and seconds is not None and halved + len(rest) < rules.halvings:
        batches = -(-work.examples // rules.grain)
        kept = batches // 2 * rules.grain
        if not kept:
            break
        other = replace(work, first=work.first + kept, examples=work.examples - kept, unit=number + len(rest))
        seconds *= kept / work.examples
        work = replace(work, examples=kept)
        rest.append(other)
    return [work, *reversed(rest)]
