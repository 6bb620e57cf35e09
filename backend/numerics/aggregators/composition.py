"""Aggregators and pre-aggregators as values, and how they are chained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from backend.numerics.aggregators.update_set import Updates, UpdateSet
from backend.numerics.vectors import Vector64


@dataclass(frozen=True)
class Aggregator:
    """A rule that makes one update of many: a pure function, which never writes to what it is given.

    `tolerance(n)` is the number of false updates of n that the rule bears at most; it is made for `f` of
    them. `with_f` makes the same rule for another f, where it depends on that.
    """

    name: str
    rule: Callable[[UpdateSet], Vector64]
    tolerance: Callable[[int], int]
    f: int = 0
    with_f: Callable[[int], Aggregator] | None = None

    def __call__(self, updates: Updates, weights: Sequence[float] | None = None) -> Vector64:
        """Returns the aggregate, float64 [size], of updates [n, size], float32 or float64.

        `weights` [n] are positive; rules that have no place for weights ignore them. Raises ValueError for
        too few updates, a value that is not finite, or updates of several lengths.
        """
        given = UpdateSet(updates, weights)
        self.check(len(given))
        return self.rule(given)

    def check(self, count: int) -> None:
        """Raises ValueError, with the numbers, if so many updates are too few for the rule."""
        _check(self, count)

    @property
    def least(self) -> int:
        """The least number of updates of which the rule bears `f` false ones."""
        return _least(self)


@dataclass(frozen=True)
class PreAggregator:
    """Makes other updates of updates, for the rule that follows. `remaining(n)` is how many it makes of n.

    One that `finds_false` leaves out false updates alone: what follows has as many fewer of them to bear.
    """

    name: str
    transform: Callable[[UpdateSet], UpdateSet]
    tolerance: Callable[[int], int]
    f: int = 0
    remaining: Callable[[int], int] = lambda count: count
    with_f: Callable[[int], PreAggregator] | None = None
    finds_false: bool = False


Step = TypeVar("Step", Aggregator, PreAggregator)


def chain(*steps: PreAggregator | Aggregator) -> Aggregator:
    """Returns the rule that applies pre-aggregators in order, then an aggregator.

    chain(nnm(2), trimmed_mean(2)) is one. It bears what each of its steps bears of the updates that reach it.
    Raises ValueError for another order.
    """
    last = steps[-1] if steps else None
    transforms = [step for step in steps[:-1] if isinstance(step, PreAggregator)]
    if not isinstance(last, Aggregator) or len(transforms) != len(steps) - 1:
        raise ValueError("A chain is any number of pre-aggregators, then one aggregator that ends it.")

    def apply(updates: UpdateSet) -> Vector64:
        found = 0
        for step in transforms:
            count = len(updates)
            updates = _for_fewer(step, found).transform(updates)
            found += count - len(updates) if step.finds_false else 0
        return _for_fewer(last, found).rule(updates)

    def tolerance(count: int) -> int:
        borne = count
        for step in transforms:
            borne = min(borne, step.tolerance(count))
            count = step.remaining(count)
        return min(borne, last.tolerance(count))

    name = " + ".join(step.name for step in steps)
    return Aggregator(name, apply, tolerance, max(step.f for step in steps))


def _for_fewer(step: Step, found: int) -> Step:
    """Returns the step for `found` false updates less, but for none at least."""
    return step.with_f(max(0, step.f - found)) if found and step.with_f else step


def checked_f(f: int) -> int:
    """Returns `f`. Raises ValueError if it is no number of false updates."""
    if not isinstance(f, int) or isinstance(f, bool) or f < 0:
        raise ValueError(f"f, the number of false updates to bear, is a whole number from 0 up, not {f!r}.")
    return f


def minority(count: int) -> int:
    """Returns the largest f < n / 2: no rule bears more without other knowledge."""
    return (count - 1) // 2


def _check(step: Aggregator, count: int) -> None:
    borne = step.tolerance(count)
    if count < 1 or step.f > borne:
        raise ValueError(
            f"{step.name} with f = {step.f} needs at least {_least(step)} updates and got {count}, "
            f"of which it bears {max(borne, 0)} false ones. Lower f, or wait for more updates."
        )


def _least(step: Aggregator) -> int:
    count = 1
    while step.tolerance(count) < step.f:
        count += 1
        if count > 16 * step.f + 16:
            raise ValueError(f"{step.name} bears f = {step.f} at no number of updates. Lower f.")
    return count
