"""Draws a picture of a task: a woven pattern that its name decides, so that every task has one."""

from __future__ import annotations

from hashlib import sha256

from markupsafe import Markup

# Cells of a quarter, in each direction; the others mirror it, so that all patterns are calm.
QUARTER = 8
# Colours of the threads, by their classes in the stylesheet; the ground is the card's own.
THREADS = ("a", "b", "c")


def picture(name: str) -> Markup:
    """Returns the picture as an inline SVG, decorative for screen readers."""
    rows = cells(name)
    side = 2 * QUARTER
    paths = "".join(f'<path class="{thread}" d="{_runs(rows, thread)}"/>' for thread in THREADS)
    svg = f'<svg class="task-picture" viewBox="0 0 {side} {side}" aria-hidden="true">{paths}</svg>'
    return Markup(svg)  # noqa: S704  (Of our own words and numbers alone.)


def cells(name: str) -> list[str]:
    """Returns the rows of the pattern: a thread or a space for each cell."""
    digits = sha256(name.encode()).digest()
    # What a cell has depends on its distance from the middle: stepped diamonds, steep ones, or squares.
    kind, period = digits[0] % 3, 4 + digits[1] % 4
    bands = ["".join((*THREADS, " "))[digit % 4] for digit in digits[2 : 2 + period]]
    # There is a thread, and ground between threads.
    bands[0], bands[2] = THREADS[digits[16] % 3], " "

    def distance(x: int, y: int) -> int:
        return (x + y, x + 2 * y, max(x, y))[kind]

    quarter = [[bands[distance(x, y) % period] for x in range(QUARTER)] for y in range(QUARTER)]
    half = ["".join((*reversed(row), *row)) for row in quarter]
    return [*reversed(half), *half]


def _runs(rows: list[str], thread: str) -> str:
    """Returns the cells of a thread as a path, neighbours of a row as one rectangle."""
    path = []
    for y, row in enumerate(rows):
        x = 0
        while x < len(row):
            width = len(row[x:]) - len(row[x:].lstrip(thread))
            if width:
                path.append(f"M{x} {y}h{width}v1h-{width}z")
            x += max(1, width)
    return "".join(path)
