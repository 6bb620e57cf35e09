"""Parses numbers on the command line."""

from __future__ import annotations

import argparse


def number(text: str) -> float:
    """Parses a number. Raises ArgumentTypeError if `text` is none."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number") from None
