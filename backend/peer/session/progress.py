"""What a peer tells the person who started it: a live display, plain lines, or JSON lines."""

from __future__ import annotations

import json
import sys
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

Value = str | int | float | bool | None | dict[str, float]


# What the moving line says after these events, until training goes on.
_BAR_LABELS = {
    "loading": "Loading",
    "ready": "Waiting",
    "accepted": "Waiting",
    "refused": "Waiting",
    "measuring": "Measuring",
    "measured": "Waiting",
}
_COLOURS = {"accepted": "green", "refused": "yellow", "offline": "yellow", "trouble": "red", "unsafe": "red"}


class Teller(Protocol):
    """Where news go of what happened once."""

    def tell(self, event: str, sentence: str, **values: Value) -> None: ...


class Reporter(Teller, Protocol):
    """Where all news go; `step` is for the training in progress, `of` a round or a unit."""

    def step(self, of: str, step: int, steps: int, loss: float) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class _LineReporter:
    """What reporters without a display share."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def step(self, of: str, step: int, steps: int, loss: float) -> None:
        """Steps are for displays."""


class JsonLines(_LineReporter):
    """One JSON object an event, with `event` and its values."""

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        print(json.dumps({"event": event, **values, "message": sentence}), file=self._stream, flush=True)


class PlainLines(_LineReporter):
    """One sentence an event."""

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        del event, values
        print(sentence, file=self._stream, flush=True)


class Display:
    """Sentences that scroll by, over one line that moves while training goes on."""

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
    """JSON lines if wanted, the display on a terminal, plain lines elsewhere."""
    if as_json:
        return JsonLines(sys.stdout)
    return Display(Console()) if sys.stdout.isatty() else PlainLines(sys.stdout)
