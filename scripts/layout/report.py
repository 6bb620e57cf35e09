"""Prints the figures as a table, JSON or lists of culprits, and the complaints of `--check`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from scripts.layout.culprit import Culprit, new_culprits
from scripts.layout.figures import FIGURES, Figure
from scripts.layout.settings import Settings

Counts = Mapping[str, Sequence[Culprit]]

# A message lists at most this many culprits.
MAX_LISTED = 10
MAX_SHARED_NAMES = 10


def table(after: Counts, before: Counts | None, settings: Settings) -> str:
    """Returns a line for each figure: counts, goal, ceiling."""
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
    """Returns `{figure: {count, goal, culprits}}`, with `before` as a count where there is one."""
    figures: dict[str, dict[str, object]] = {}
    for figure in FIGURES:
        culprits = after[figure.name]
        figures[figure.name] = {"count": len(culprits), "goal": figure.goal}
        if before is not None:
            figures[figure.name]["before"] = len(before[figure.name])
        figures[figure.name]["culprits"] = [str(one) for one in culprits]
    return json.dumps(figures, indent=2)


def listed(counts: Counts, names: Sequence[str]) -> str:
    """Returns the culprits of some figures as text."""
    lines: list[str] = []
    for name in names:
        lines += ["", f"{name}: {len(counts[name])}", *(f"  {one}" for one in counts[name])]
    return "\n".join(lines)


def exceeded(counts: Counts, settings: Settings) -> list[Figure]:
    """Returns the figures whose goal is missed and whose count is above the ceiling.

    Without a ceiling the goal is the ceiling.
    """
    return [
        figure
        for figure in FIGURES
        if figure.goal is not None
        and len(counts[figure.name]) > max(figure.goal, settings.ceilings.get(figure.name, figure.goal))
    ]


def complaints(after: Counts, before: Counts | None, settings: Settings) -> Iterator[str]:
    """Yields a paragraph for each figure above its ceiling.

    `before` holds the counts for which the ceilings were set.
    """
    for figure in exceeded(after, settings):
        culprits = after[figure.name]
        new = new_culprits(before[figure.name], culprits) if before else []
        ceiling = settings.ceilings.get(figure.name, figure.goal)
        word = "New" if new else "All"
        shown = new or culprits
        yield "\n".join(
            [
                f"{figure.name} is {len(culprits)}, and may be {ceiling} at most. {figure.advice} {word}:",
                *(f"  {one}" for one in shown[:MAX_LISTED]),
                *([f"  and {len(shown) - MAX_LISTED} more"] if len(shown) > MAX_LISTED else []),
            ]
        )
    if len(settings.shared_names) > MAX_SHARED_NAMES:
        count = len(settings.shared_names)
        yield f"[shared_class_names] in house.toml has {count} names; {MAX_SHARED_NAMES} are allowed."


def slack(counts: Counts, settings: Settings) -> list[str]:
    """Returns the figures that are better than their ceilings."""
    return [name for name, ceiling in settings.ceilings.items() if len(counts[name]) < ceiling]
