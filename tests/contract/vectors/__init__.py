"""Golden vectors for both languages.

Each `*/make_*.py` has `files()`: what it makes, by file name. tests/contract/test_vectors_are_fresh.py
compares it with what is committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent


def write(files: Mapping[str, str]) -> None:
    """Write the files that a script makes."""
    for name, content in files.items():
        (HERE / name).write_bytes(content.encode())
