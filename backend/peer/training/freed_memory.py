"""Keeps memory that a peer freed, for its next round."""

from __future__ import annotations

import ctypes
import sys

# Options of mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# What a process keeps at most in one heap, and vectors up to which length come from one.
_KEPT_BYTES, _LONGEST_BYTES = 256 << 20, 64 << 20


def keep_freed_memory() -> None:
    """Tells the allocator to keep what is freed: each round needs vectors as long as those of the last one.

    glibc returns them to the system, whose zeroed pages cost more than most of the arithmetic. Other
    allocators stay as they are.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _LONGEST_BYTES)
