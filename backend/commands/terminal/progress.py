"""Shows on standard error how far a command is: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

BAR_COLUMNS = 20


class TerminalProgress:
    """A context manager around what takes more than about two seconds.

    On a terminal it shows `text` with the time, and a bar once an amount is known; it leaves nothing behind.
    Elsewhere it prints a line for each step, or nothing if it is `quiet`, as for a report in JSON.
    """

    def __init__(self, text: str, *, quiet: bool = False, in_bytes: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._text, self._quiet, self._in_bytes = text, quiet, in_bytes
        self._live: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._show(None)
        else:
            self._say(self._text)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def step(self, text: str) -> None:
        """Says what is done now."""
        self._text = text
        if self._live is None:
            self._say(text)
        else:
            self._show(None)

    def amount(self, done: float, total: float | None, text: str | None = None) -> None:
        """Says how much of the present step is done, in bytes or in pieces; only a terminal shows it."""
        self._text = text or self._text
        if self._live is not None:
            if self._live.tasks[0].total != total:
                self._show(total)
            self._live.update(self._task, completed=done, description=escape(self._text))

    def _say(self, text: str) -> None:
        if not self._quiet:
            self._console.print(text, markup=False, soft_wrap=True)

    def _show(self, total: float | None) -> None:
        """Shows a step of `total` pieces; None shows only the time."""
        if self._live is not None:
            self._live.stop()
        counted: list[ProgressColumn] = []
        if total is not None:
            amount = DownloadColumn() if self._in_bytes else MofNCompleteColumn()
            counted = [BarColumn(BAR_COLUMNS), amount]
        columns = (SpinnerColumn(), TextColumn("{task.description}"), *counted, TimeElapsedColumn())
        # What is printed meanwhile goes above the bar, but never from a file or pipe to the terminal.
        self._live = Progress(
            *columns, console=self._console, transient=True, redirect_stdout=sys.stdout.isatty()
        )
        self._task = self._live.add_task(escape(self._text), total=total)
        self._live.start()
