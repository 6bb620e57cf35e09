"""Loads the data that a task requires of its clients, and reports them before the peer joins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from backend.errors import PeerError
from backend.formats.task_file import VolunteerData
from backend.numerics.preprocess.fitted import Arrays, Fitted, FittedAudio, FittedTable, FittedText, Image
from backend.peer.data.local_data import LocalDataset, read_local_data
from backend.peer.data.preview import first_examples
from backend.peer.data.url_data import fetch_url_data
from backend.peer.session.progress import Reporter
from backend.peer.session.retry import retry_start
from backend.peer.session.server_address import TaskData

_SHOWN = 5


async def load_local_data(
    data: TaskData, path: Path | None, reporter: Reporter, is_canceled: Callable[[], bool]
) -> LocalDataset | None:
    """Loads and reports the examples at `path`; None where the server assigns the task's shards.

    Raises PeerError when data are missing or not taken, DataError when they cannot be used.
    """
    if data.volunteer is None or data.preprocess is None:
        if path is None:
            return None
        raise PeerError("This task assigns its own examples and takes no others; leave --data out.")
    if path is None:
        limits = describe_requirements(data.preprocess, data.volunteer)
        raise PeerError(
            f"This task learns from its volunteers' own examples: {limits}. "
            "Give yours with --data PATH; they stay on this machine."
        )
    reporter.tell("reading", f"Reading {path}.")
    local_data = await asyncio.to_thread(read_local_data, path, data.preprocess, data.volunteer, is_canceled)
    report_local_data(local_data, path, reporter)
    return local_data


async def load_url_data(
    data: TaskData, cache: Path, server: str, reporter: Reporter, is_canceled: Callable[[], bool]
) -> LocalDataset | None:
    """Loads the examples that all clients of the task fetch from URLs; None if it has no such data.

    `server` is the hostname of the task's own server. Retries while the files' host is unreachable. Raises
    DataError.
    """
    url, fitted = data.url, data.preprocess
    if url is None or fitted is None:
        return None

    async def fetch() -> LocalDataset:
        return await asyncio.to_thread(fetch_url_data, url, fitted, cache, server, reporter, is_canceled)

    local_data = await retry_start(fetch, reporter, is_canceled)
    if local_data is None:
        return None
    count, holdout = len(local_data.held_out), int(local_data.held_out.sum())
    sentence = f"{count:,} examples are here, {holdout:,} of them to measure on; rounds assign parts of them."
    reporter.tell("fetched", sentence, examples=count, holdout=holdout)
    return local_data


def describe_requirements(fitted: Fitted, limits: VolunteerData) -> str:
    """Describes the required data in words."""
    return f"{limits.minimum:,} to {limits.maximum:,}, from {_description(fitted)}"


def _description(fitted: Fitted) -> str:
    match fitted:
        case Image(label=label):
            return f"pictures in folders named {', '.join(label.classes)}"
        case FittedAudio(label=label):
            return f"recordings (.wav) in folders named {', '.join(label.classes)}"
        case FittedTable(columns=columns, label_columns=labels):
            names = [*(fitted_column.column for fitted_column in columns), *labels]
            return f"a CSV, Parquet or Arrow file with the columns {', '.join(names)}"
        case Arrays(x=x, y=y):
            return f"an .npz file with the arrays {', '.join((*x, *y))}"
        case FittedText(text_column=str() as text, label_column=str() as label_column):
            return f"a CSV, Parquet or Arrow file with the columns {text}, {label_column}"
        case FittedText(label=None):
            return "text files (.txt, .md) in UTF-8"
        case FittedText(label=label):
            classes = label.classes if label else []
            return f"text files in folders named {', '.join(classes)}"


def report_local_data(local_data: LocalDataset, path: Path, reporter: Reporter) -> None:
    """Reports the examples, their classes, what was left out and why, and the model's first inputs."""
    count, holdout = len(local_data.held_out), int(local_data.held_out.sum())
    sentence = (
        f"{count:,} examples at {path}: {count - holdout:,} to train on, {holdout:,} kept aside to measure "
        "on. They stay on this machine."
    )
    classes = {name: float(number) for name, number in local_data.classes.items()}
    reporter.tell(
        "own", sentence, examples=count, holdout=holdout, classes=classes, broken=len(local_data.broken)
    )
    if local_data.classes:
        counted = ", ".join(f"{name} {number:,}" for name, number in local_data.classes.items())
        reporter.tell("classes", f"  Of each class: {counted}.")
    for line in _left_out(local_data.broken):
        reporter.tell("left-out", f"  {line}")
    for line in first_examples(local_data):
        reporter.tell("example", f"  {line}")


def _left_out(broken: list[str]) -> list[str]:
    if not broken:
        return []
    more = len(broken) - _SHOWN
    lines = [f"{len(broken):,} were left out:", *(f"  {problem}" for problem in broken[:_SHOWN])]
    return [*lines, f"  and {more:,} more."] if more > 0 else lines
