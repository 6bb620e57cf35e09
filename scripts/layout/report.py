"""Prints the figures: as a table, as JSON, as lists of culprits, and as what `--check` complains about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from scripts.layout.culprit import Culprit, new_culprits
from scripts.layout.figures import FIGURES, Figure
from scripts.layout.settings import Settings

Counts = Mapping[str, Sequence[Culprit]]

# A message names at most so many.
FEW = 10
MOST_SHARED_NAMES = 10


def table(after: Counts, before: Counts | None, settings: Settings) -> str:
    """A line for each figure: counts, goal, ceiling."""
    head = [
        "figure",
        *(["before"] if before else []),
        "count" if before is None else "after",
        "goal",
        "ceiling",
    ]
    rows = [head]
    for figure in FIGURES:
        counts = [str(len(one[figure.name])) for one in (before, after) if one is not None]
        goal = "" if figure.goal is None else str(figure.goal)
        rows.append([figure.name, *counts, goal, str(settings.ceilings.get(figure.name, ""))])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = (
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def as_json(after: Counts, before: Counts | None) -> str:
    """`{figure: {count, goal, culprits}}`, with `before` as a count where there is one."""
    found: dict[str, dict[str, object]] = {}
    for figure in FIGURES:
        culprits = after[figure.name]
        found[figure.name] = {"count": len(culprits), "goal": figure.goal}
        if before is not None:
            found[figure.name]["before"] = len(before[figure.name])
        found[figure.name]["culprits"] = [str(one) for one in culprits]
    return json.dumps(found, indent=2)


def listed(counts: Counts, names: Sequence[str]) -> str:
    """The culprits of some figures."""
    lines: list[str] = []
    for name in names:
        lines += ["", f"{name}: {len(counts[name])}", *(f"  {one}" for one in counts[name])]
    return "\n".join(lines)


def exceeded(counts: Counts, settings: Settings) -> list[Figure]:
    """Figures whose goal is not met and whose count is above its ceiling (without one: above the goal)."""
    return [
        figure
        for figure in FIGURES
        if figure.goal is not None
        and len(counts[figure.name]) > max(figure.goal, settings.ceilings.get(figure.name, figure.goal))
    ]


def complaints(after: Counts, before: Counts | None, settings: Settings) -> Iterator[str]:
    """A paragraph for each figure above its ceiling; `before` is what the ceilings were made for."""
    for figure in exceeded(after, settings):
        culprits = after[figure.name]
        fresh = new_culprits(before[figure.name], culprits) if before else []
        ceiling = settings.ceilings.get(figure.name, figure.goal)
        word = "New" if fresh else "All"
        shown = fresh or culprits
        yield "\n".join(
            [
                f"{figure.name} is {len(culprits)}, and may be {ceiling} at most. {figure.advice} {word}:",
                *(f"  {one}" for one in shown[:FEW]),
                *([f"  and {len(shown) - FEW} more"] if len(shown) > FEW else []),
            ]
        )
    if len(settings.shared_names) > MOST_SHARED_NAMES:
        count = len(settings.shared_names)
        yield f"[shared_class_names] in house.toml has {count} names; {MOST_SHARED_NAMES} are allowed."


def slack(counts: Counts, settings: Settings) -> list[str]:
    """Figures that are better than their ceilings."""
    return [name for name, ceiling in settings.ceilings.items() if len(counts[name]) < ceiling]
