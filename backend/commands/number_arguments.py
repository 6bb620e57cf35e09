"""Parses numbers on the command line."""

from __future__ import annotations

import argparse


def number(text: str) -> float:
    """Parses a number. Raises ArgumentTypeError if `text` is none."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number") from None


def count(text: str) -> int:
    """Parses a whole number from 1 to 1,000,000. Raises ArgumentTypeError."""
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"a whole number from 1 to 1000000 is needed, not '{text}'")
    return int(text)


def seed(text: str) -> int:
    """Parses a seed, a whole number below 2^31. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) >= 2**31:
        raise argparse.ArgumentTypeError(f"a whole number below 2^31 is needed, not '{text}'")
    return int(text)


def positive(text: str) -> float:
    """Parses a finite number above 0. Raises ArgumentTypeError."""
    value = number(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"a number above 0 is needed, not '{text}'")
    return value
