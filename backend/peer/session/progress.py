"""Reports a peer's progress to the person who started it: live display, plain lines or JSON lines."""

from __future__ import annotations

import json
import sys
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

Value = str | int | float | bool | None | dict[str, float]


# The label of the progress bar after these events, until training continues.
_BAR_LABELS = {
    "loading": "Loading",
    "ready": "Waiting",
    "accepted": "Waiting",
    "refused": "Waiting",
    "uncounted": "Waiting",
    "measuring": "Measuring",
    "measured": "Waiting",
}
_COLOURS = {
    "accepted": "green",
    "refused": "yellow",
    "uncounted": "yellow",
    "offline": "yellow",
    "trouble": "red",
    "unsafe": "red",
}


class Teller(Protocol):
    """Receives events that happen once, each with a sentence for people."""

    def tell(self, event: str, sentence: str, **values: Value) -> None: ...


class Reporter(Teller, Protocol):
    """Receives all reports; `step` reports the training of `of`, which is a round or a unit."""

    def step(self, of: str, step: int, steps: int, loss: float) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class _LineReporter:
    """The common part of reporters without a display."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def step(self, of: str, step: int, steps: int, loss: float) -> None:
        """Ignores steps, which only a display shows."""


class JsonLines(_LineReporter):
    """Writes one JSON object per event, with the key `event` and the event's values."""

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        print(json.dumps({"event": event, **values, "message": sentence}), file=self._stream, flush=True)


class PlainLines(_LineReporter):
    """Writes one sentence per event."""

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        del event, values
        print(sentence, file=self._stream, flush=True)


class Display:
    """Prints sentences above a progress bar, which moves during training."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=32),
            MofNCompleteColumn(),
            TextColumn("{task.fields[loss]}"),
            console=console,
        )
        self._task = self._bar.add_task("Starting", total=None, loss="")
        self._live = Live(self._bar, console=console, refresh_per_second=8, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        del values
        colour = _COLOURS.get(event)
        self._console.print(sentence, style=colour, markup=False, highlight=colour is None)
        if event in _BAR_LABELS:
            self._bar.update(self._task, description=_BAR_LABELS[event], total=None, completed=0, loss="")

    def step(self, of: str, step: int, steps: int, loss: float) -> None:
        self._bar.update(self._task, description=of, total=steps, completed=step, loss=f"loss {loss:.3f}")


def make_reporter(as_json: bool) -> Reporter:
    """Returns JSON lines if `as_json`, else the display on a terminal and plain lines otherwise."""
    if as_json:
        return JsonLines(sys.stdout)
    return Display(Console()) if sys.stdout.isatty() else PlainLines(sys.stdout)
