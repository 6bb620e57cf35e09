"""Whether a person brings the data that a task needs, and what is told of them before the peer joins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from backend.errors import PeerError
from backend.formats.task_file import VolunteerData
from backend.numerics.preprocess.fitted import Arrays, Fitted, FittedTable, FittedText, Image
from backend.peer.data.local_data import OwnData, read_own
from backend.peer.data.preview import first_examples
from backend.peer.data.url_data import fetch_elsewhere
from backend.peer.session.progress import Reporter
from backend.peer.session.retry import retry_start
from backend.peer.session.server_address import TaskData

_SHOWN = 5


async def bring(
    data: TaskData, path: Path | None, reporter: Reporter, halted: Callable[[], bool]
) -> OwnData | None:
    """The examples at `path`, read and told about; None where the task deals out its own.

    Raises PeerError when data are missing or not wanted, DataError when they cannot be used.
    """
    if data.volunteer is None or data.preprocess is None:
        if path is None:
            return None
        raise PeerError("This task deals its own examples out and takes no others; leave --data out.")
    if path is None:
        wanted = described(data.preprocess, data.volunteer)
        raise PeerError(
            f"This task learns from its volunteers' own examples: {wanted}. "
            "Say where yours are with --data PATH; they stay on this machine."
        )
    reporter.tell("reading", f"Reading {path}.")
    own = await asyncio.to_thread(read_own, path, data.preprocess, data.volunteer, halted)
    tell_own(own, path, reporter)
    return own


async def fetched(
    data: TaskData, cache: Path, server: str, reporter: Reporter, halted: Callable[[], bool]
) -> OwnData | None:
    """The examples that all clients of the task fetch from elsewhere; None where there are none such.

    `server` is the host of the task's own server. Waits while the other place is away. Raises DataError.
    """
    url, fitted = data.url, data.preprocess
    if url is None or fitted is None:
        return None

    async def ask() -> OwnData:
        return await asyncio.to_thread(fetch_elsewhere, url, fitted, cache, server, reporter, halted)

    own = await retry_start(ask, reporter, halted)
    if own is None:
        return None
    count, held = len(own.held), int(own.held.sum())
    sentence = f"{count:,} examples are here, {held:,} of them to measure on; rounds deal out parts of them."
    reporter.tell("fetched", sentence, examples=count, holdout=held)
    return own


def described(fitted: Fitted, wanted: VolunteerData) -> str:
    """What to bring, in words."""
    return f"{wanted.minimum:,} to {wanted.maximum:,}, from {_holder(fitted)}"


def _holder(fitted: Fitted) -> str:
    match fitted:
        case Image(label=label):
            return f"pictures in folders named {', '.join(label.classes)}"
        case FittedTable(columns=columns, label_columns=labels):
            names = [*(one.column for one in columns), *labels]
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


def tell_own(own: OwnData, path: Path, reporter: Reporter) -> None:
    """Tells how much there is, of which classes, what was left out and why, and what the model gets."""
    count, holdout = len(own.held), int(own.held.sum())
    sentence = (
        f"{count:,} examples at {path}: {count - holdout:,} to train on, {holdout:,} kept aside to measure "
        "on. They stay on this machine."
    )
    classes = {name: float(number) for name, number in own.classes.items()}
    reporter.tell("own", sentence, examples=count, holdout=holdout, classes=classes, broken=len(own.broken))
    if own.classes:
        counted = ", ".join(f"{name} {number:,}" for name, number in own.classes.items())
        reporter.tell("classes", f"  Of each class: {counted}.")
    for line in _left_out(own.broken):
        reporter.tell("left-out", f"  {line}")
    for line in first_examples(own):
        reporter.tell("example", f"  {line}")


def _left_out(broken: list[str]) -> list[str]:
    if not broken:
        return []
    more = len(broken) - _SHOWN
    lines = [f"{len(broken):,} were left out:", *(f"  {one}" for one in broken[:_SHOWN])]
    return [*lines, f"  and {more:,} more."] if more > 0 else lines
