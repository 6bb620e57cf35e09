"""Draws curves as a small SVG that is readable on light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 32, 34, 44
# Middle tones with a contrast of at least 3 to 1 on white and on near black.
TEXT = "#7a828c"
COLOURS = ("#7a828c", "#2f81f7", "#d9730d", "#8250df", "#1a9e6b", "#d6457a")
# The height of a line of the key.
_ROW = 18


@dataclass(frozen=True)
class Line:
    """A line [n]: mean values with the lowest and highest of the averaged values."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def draw(
    title: str,
    x_label: str,
    y_label: str,
    lines: Sequence[Line],
    short: bool = False,
    with_key: bool = True,
) -> str:
    """Returns an SVG of the lines with their bands, a grid and a key.

    There must be at least one line with one point, and at most as many lines as COLOURS. The key is at the
    right, where the fewest points are, or beside the title where names are `short`; a page may have its own
    instead.
    """
    right = max(max(line.x) for line in lines)
    y_ticks = _ticks(min(min(line.low) for line in lines), max(max(line.high) for line in lines))
    frame = _Frame(right, y_ticks[0], y_ticks[-1])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="12" fill="{TEXT}">',
        f'<text x="{LEFT}" y="18" font-size="14" font-weight="600">{escape(title)}</text>',
        *(_across(frame, tick) for tick in y_ticks),
        *(_below(frame, tick) for tick in _ticks(0, right) if tick <= right),
        _label(f"translate({(LEFT + WIDTH - RIGHT) / 2:.0f} {HEIGHT - 8})", x_label),
        _label(f"translate(14 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)", y_label),
        *(_curve(frame, line, colour) for line, colour in zip(lines, COLOURS, strict=False)),
        *(
            _key(position, line, colour)
            for position, line, colour in zip(
                _key_positions(frame, lines, short) if with_key else (), lines, COLOURS, strict=False
            )
        ),
    ]
    return "\n".join([*parts, "</svg>\n"])


@dataclass(frozen=True)
class _Frame:
    """Maps values to positions on the picture; x begins at 0."""

    right: float
    bottom: float
    top: float

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * value / self.right

    def y(self, value: float) -> float:
        share = (value - self.bottom) / (self.top - self.bottom)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    def path(self, xs: Sequence[float], ys: Sequence[float]) -> str:
        return " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, ys, strict=True))


def _ticks(low: float, high: float) -> list[float]:
    """Returns about five round numbers from below `low` to above `high`."""
    rough = max(high - low, 1e-9) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * min((factor for factor in (1, 2, 5, 10) if factor * unit >= rough), default=10)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [step * number for number in range(first, max(last, first + 1) + 1)]


def _label(transform: str, text: str) -> str:
    return f'<text transform="{transform}" text-anchor="middle">{escape(text)}</text>'


def _across(frame: _Frame, tick: float) -> str:
    y = frame.y(tick)
    return (
        f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{TEXT}" stroke-opacity="0.25"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>'
    )


def _below(frame: _Frame, tick: float) -> str:
    return f'<text x="{frame.x(tick):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{tick:,.0f}</text>'


def _curve(frame: _Frame, line: Line, colour: str) -> str:
    upper, lower = frame.path(line.x, line.high), frame.path(line.x[::-1], line.low[::-1])
    return (
        f'<polygon points="{upper} {lower}" fill="{colour}" fill-opacity="0.15"/>'
        f'<polyline points="{frame.path(line.x, line.y)}" fill="none" stroke="{colour}" stroke-width="2"/>'
    )


def _key_positions(frame: _Frame, lines: Sequence[Line], short: bool) -> list[tuple[int, int]]:
    """Returns the position of each line's key."""
    count = len(lines)
    if short:
        return [(WIDTH - RIGHT - 88 * (count - number), 18) for number in range(count)]
    left, height = WIDTH - RIGHT - 200, _ROW * count
    beside = [frame.y(y) for line in lines for x, y in zip(line.x, line.y, strict=True) if frame.x(x) > left]

    def covered(top: int) -> int:
        return sum(top - 2 <= y <= top + height + 2 for y in beside)

    # The lowest of the best places.
    top = min(range(HEIGHT - BOTTOM - height - 4, TOP, -2), key=covered)
    return [(left, top + _ROW * number + 14) for number in range(count)]


def _key(position: tuple[int, int], line: Line, colour: str) -> str:
    x, y = position
    return (
        f'<path d="M{x} {y - 4}h24" stroke="{colour}" stroke-width="3"/>'
        f'<text x="{x + 32}" y="{y}">{escape(line.name)}</text>'
    )
