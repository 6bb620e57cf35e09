"""Formats sizes, times, operation counts and shapes for people."""

from __future__ import annotations

from collections.abc import Sequence


def number(value: float) -> str:
    """Formats a whole number with thin spaces between thousands, in all languages (ISO 80000-1): `12 345`."""
    return f"{value:,.0f}".replace(",", "\u202f")


def size(count: float) -> str:
    """Formats bytes: `21 kB`, `3.4 MB`."""
    return _scaled(count, ("bytes", "kB", "MB", "GB"))


def operations(count: float) -> str:
    """Formats a number of floating-point operations: `45 MFLOP`."""
    return _scaled(count, ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"))


def between(low_ms: float, high_ms: float) -> str:
    """Formats a range of times: `6.5–25 ms`, `0.4–1.6 s`."""
    if high_ms < 1000:
        return f"{_short(low_ms)}–{_short(high_ms)} ms"
    return f"{_short(low_ms / 1000)}–{_short(high_ms / 1000)} s"


def shape(lengths: Sequence[int | None]) -> str:
    """Formats a tensor's shape: `8 × 8 × 16`; a scalar is `1`, an unknown length `?`."""
    return " × ".join("?" if length is None else str(length) for length in lengths) or "1"


def relative_error(value: float) -> str:
    """Formats a small number by one digit: `3e-7`; `0` for none."""
    if value == 0.0:
        return "0"
    digit, _, exponent = f"{value:.0e}".partition("e")
    return f"{digit}e{int(exponent)}"


def _scaled(count: float, units: Sequence[str]) -> str:
    for unit in units[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if count >= 10 or unit == units[0] else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {units[-1]}"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"
