"""Measures the repository's layout and names: `python scripts/house.py --help`."""

from __future__ import annotations

import sys
from pathlib import Path


def run() -> int:
    """Runs the command from this checkout, wherever it is started."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from scripts.layout.command import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
