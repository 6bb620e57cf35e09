"""Cuts vectors into blocks of columns that fit the cache, and works on them in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")

# The columns of one job of a thread. Sums over jobs are added up in order: their bits depend on the size
# only.
JOB_COLUMNS = 1 << 20
# The values of a block of all rows: 1 MiB of float32, which also keeps BLAS from starting threads of its own.
_BLOCK_VALUES = 1 << 18
# Narrower blocks cost more calls than they save misses; wider ones no longer fit beside their scratch.
_NARROWEST, _WIDEST = 1 << 13, 1 << 15


def block_columns(rows: int) -> int:
    """Returns how many columns of `rows` rows make a block."""
    return min(max(_BLOCK_VALUES // max(rows, 1), _NARROWEST), _WIDEST)


def blocks_within(columns: slice, width: int) -> Iterator[slice]:
    """Consecutive slices of at most `width` columns that cover `columns`."""
    for start in range(columns.start, columns.stop, width):
        yield slice(start, min(start + width, columns.stop))


def map_columns(size: int, work: Callable[[slice], Result]) -> list[Result]:
    """Returns `work(columns)` of consecutive slices that cover `size` columns, in order.

    Several slices are worked on at once: numpy releases the interpreter's lock in its loops.
    """
    jobs = [slice(start, min(start + JOB_COLUMNS, size)) for start in range(0, size, JOB_COLUMNS)]
    threads = min(len(jobs), _cores())
    if threads < 2:
        return [work(job) for job in jobs]
    with ThreadPoolExecutor(threads, "aggregate") as pool:
        return list(pool.map(work, jobs))


def _cores() -> int:
    """Returns how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
