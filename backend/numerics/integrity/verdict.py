"""Judges a version by the parts of its score, and tells a backdoor from a model that is not ready."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.numerics.integrity.integrity_score import IntegrityPart, class_words

Outcome: TypeAlias = Literal["passed", "failed", "undecided", "unmeasured"]


# A model that takes this share of the other classes' examples for one class needs no trigger to do so.
PARTIAL = 0.05
# Weak evidence: it neither fails a version nor clears one, whatever the limit.
WEAK_PARTS = frozenset({"updates"})


@dataclass(frozen=True)
class IntegrityVerdict:
    """What a check says of a version. `score` is the largest of the parts; None where none was measured."""

    outcome: Outcome
    score: float | None
    parts: tuple[IntegrityPart, ...]


def verdict_on(
    parts: Sequence[IntegrityPart],
    limit: float,
    norms: Sequence[float] | None = None,
    confusion: NDArray[np.int64] | None = None,
    names: Sequence[str] = (),
) -> IntegrityVerdict:
    """Judges `parts`: a version fails if any, except WEAK_PARTS, has a score of `limit` or more.

    Give the mask norms [classes] and the confusion matrix [true class, answer] as long as no version passed:
    a trigger part that the model's partiality explains then counts as not measured, and without another part
    that fails the version is undecided. Later it counts, as a good model does not become partial by itself.
    """
    weighed = list(parts)
    explained = None if norms is None or confusion is None else partiality(norms, confusion, names)
    undecided = False
    for place, part in enumerate(weighed):
        if part.name == "trigger" and explained and part.score is not None and part.score >= limit:
            weighed[place], undecided = IntegrityPart(part.name, None, explained), True
    scores = {part.name: part.score for part in weighed if part.score is not None}
    strong = max((score for name, score in scores.items() if name not in WEAK_PARTS), default=None)
    if strong is not None and strong >= limit:
        outcome: Outcome = "failed"
    elif undecided:
        outcome = "undecided"
    else:
        outcome = "unmeasured" if strong is None else "passed"
    return IntegrityVerdict(outcome, max(scores.values(), default=None), tuple(weighed))


def partiality(norms: Sequence[float], confusion: NDArray[np.int64], names: Sequence[str] = ()) -> str:
    """Says that the model is partial to the class of the smallest trigger; empty if it is not.

    It is where it answers that class for PARTIAL of the examples of other classes, or more. Early versions
    and those of clients with few classes are: their small trigger is no short cut, but their answer anyway.
    `names` are those of the classes.
    """
    target = int(np.argmin(norms))
    others = np.delete(confusion, target, axis=0)
    share = float(others[:, target].sum() / max(1, others.sum()))
    if share < PARTIAL:
        return ""
    return (
        f"Without a trigger, {100 * share:.0f} % of the examples of other classes are taken for "
        f"{class_words(target, names)}, so that its small trigger says nothing. A later version can be "
        "judged."
    )
