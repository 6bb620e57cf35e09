"""Cut windows out of a column of a CSV file, as this task takes them.

Usage: python windows.py SERIES.csv COLUMN OUTPUT.npz
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

LENGTH = 48


def windows(values: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """All windows x [n, 48, 1] of a series [n + 48], and what follows each, y [n, 1].

    The series is brought to mean 0 and spread 1 before.
    """
    scaled = ((values - values.mean()) / (values.std() or 1.0)).astype(np.float32)
    seen = np.lib.stride_tricks.sliding_window_view(scaled[:-1], LENGTH)
    return seen[..., None].copy(), scaled[LENGTH:, None]


def main() -> int:
    """Read the column, write the windows."""
    source, column, target = sys.argv[1:]
    with Path(source).open(encoding="utf-8", newline="") as file:
        values = np.array([float(row[column]) for row in csv.DictReader(file)])
    if len(values) <= LENGTH:
        sys.exit(f"{source} has {len(values)} rows; more than {LENGTH} are needed.")
    x, y = windows(values)
    np.savez(target, x=x, y=y)
    print(f"{len(x):,} windows written to {target}.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
