"""Replaces attributes of a foreign module or class during a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def patched_attributes(owner: Any, replacements: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """While open, `owner` has the given attributes; restores its own afterwards. Not thread-safe."""
    originals = {name: getattr(owner, name) for name in replacements}
    try:
        for name, replacement in replacements.items():
            setattr(owner, name, replacement)
        yield
    finally:
        for name, original in originals.items():
            setattr(owner, name, original)
