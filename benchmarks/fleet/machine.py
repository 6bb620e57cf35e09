"""One machine of a fleet: a peer's process, killed at the end of its life, and the processes after it."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.fleet.lives import Life
from benchmarks.support.server_process import seconds
from benchmarks.support.throttle import throttled
from benchmarks.support.training_run import joining

# Numbers of processes: those of one machine follow each other.
MOST_LIVES = 1000


@dataclass
class PeerLife:
    """A peer's process: its `events`, a file, its processor seconds, and Unix times of begin and end.

    A peer of the first generation begins with the training: its `start_up` processor seconds do not count.
    `killed`: the provider took its machine, after a notice or without one.
    """

    number: int
    events: Path
    began: float
    ended: float | None = None
    processor: float = 0.0
    start_up: float = 0.0
    killed: bool = False

    def reports(self) -> list[dict[str, Any]]:
        """Returns all whole reports that the peer has written."""
        lines = self.events.read_bytes().splitlines(keepends=True)
        return [msgspec.json.decode(line) for line in lines if line.endswith(b"\n")]


@dataclass(frozen=True)
class MachineRules:
    """How machines run: peers of the server at `url` with `share` of a core each once they are ready.

    `notice`: seconds between SIGTERM and SIGKILL at the end of a life; without it there is no SIGTERM.
    `folder` is for the peers' homes and logs.
    """

    url: str
    folder: Path
    seed: int
    share: float
    notice: float | None = None


@dataclass
class Machine:
    """Owns one process at a time; `lives` says how long each lives, None: until the end of the run.

    `offset` is the begin of its turns on the core, as a share of their period.
    """

    rules: MachineRules
    number: int
    offset: float
    lives: Iterator[Life] | None
    history: list[PeerLife] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)
    _process: subprocess.Popen[str] | None = None
    _is_throttled: bool = False
    _life: Life | None = None
    _is_noticed: bool = False
    _next_at: float = 0.0

    def start(self, now: float) -> None:
        """Starts a process. The first one lives from `begin_life` on, its replacements at once."""
        rules, number = self.rules, self.number * MOST_LIVES + len(self.history)
        self._stack = ExitStack()
        events = rules.folder / f"events-{number}.jsonl"
        output = self._stack.enter_context(events.open("w"))
        module = "benchmarks.fleet.stepping_peer"
        self._process = self._stack.enter_context(
            joining(rules.url, rules.folder, rules.seed, number, output=output, module=module)
        )
        self._is_throttled = self._is_noticed = False
        self._life = next(self.lives) if self.history and self.lives is not None else None
        self.history.append(PeerLife(number, events, now))

    def begin_life(self, now: float) -> None:
        """Lets the first process' life begin now."""
        self._life = None if self.lives is None else next(self.lives)
        life = self.history[-1]
        life.began, life.start_up = now, life.processor

    def tick(self, now: float) -> None:
        """Does what is due. Raises RuntimeError when a peer failed."""
        if self._process is None:
            if self.history and now >= self._next_at:
                self.start(now)
            return
        life, process = self.history[-1], self._process
        failed = not self._is_noticed and process.poll()
        with suppress(FileNotFoundError, ProcessLookupError):
            life.processor = sum(seconds(process.pid))
        if not self._is_throttled and self.rules.share < 1.0 and b'"ready"' in life.events.read_bytes():
            self._is_throttled = True
            self._stack.enter_context(throttled(process, self.rules.share, self.offset))
        if failed:
            raise RuntimeError(f"A peer gave up: {self.rules.folder / f'peer-{life.number}.log'} says why.")
        if self._life is not None:
            self._end_life(now, life.began + self._life.seconds, self._life.away)

    def _end_life(self, now: float, end: float, away: float) -> None:
        assert self._process is not None
        life = self.history[-1]
        if self.rules.notice is not None and not self._is_noticed and now >= end - self.rules.notice:
            self._is_noticed = True
            self._process.send_signal(signal.SIGTERM)
        if now >= end:
            life.killed = True
            self._next_at = now + away
            self.stop(now)

    def stop(self, now: float) -> None:
        """Kills the process, if there is one."""
        if self._process is None:
            return
        self._process.kill()
        self._process = None
        self.history[-1].ended = now
        self._stack.close()

    def paid(self, began: float, ended: float) -> float:
        """Returns the seconds between two times in which a machine was there."""
        return sum(
            max(0.0, min(life.ended or ended, ended) - max(life.began, began)) for life in self.history
        )
