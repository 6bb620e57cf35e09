"""Numbers on the command line, of whatever range."""

from __future__ import annotations

import argparse


def number(text: str) -> float:
    """The number that `text` writes. Raises ArgumentTypeError where it is none."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number") from None
