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
from benchmarks.fleet.stepping_peer import STANDBY
from benchmarks.support.server_process import seconds
from benchmarks.support.throttle import throttled
from benchmarks.support.training_run import joining

# Numbers of processes: those of one machine follow each other.
MOST_LIVES = 1000


@dataclass
class PeerLife:
    """A peer's process: its `events`, a file, its processor seconds, and Unix times of begin and end.

    `start_up` are the processor seconds before its begin, which do not count.
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
    `folder` is for the peers' homes and logs. With `standby` a replacement loads TensorFlow before its life
    begins, since this takes the same seconds however short lives are.
    """

    url: str
    folder: Path
    seed: int
    share: float
    notice: float | None = None
    standby: bool = False


@dataclass
class _PeerProcess:
    """A running process and what has to end with it; one on standby waits until `standby` is no file."""

    life: PeerLife
    process: subprocess.Popen[str]
    stack: ExitStack
    standby: Path
    is_throttled: bool = False
    is_noticed: bool = False

    def end(self) -> None:
        """Kills the process, if it still runs."""
        self.process.kill()
        self.stack.close()


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
    _peer: _PeerProcess | None = None
    _next_peer: _PeerProcess | None = None
    _life: Life | None = None
    _next_at: float = 0.0

    def start(self, now: float) -> None:
        """Starts a process. The first one lives from `begin_life` on, its replacements at once."""
        peer = self._next_peer or self._launch(on_standby=False)
        peer.standby.unlink(missing_ok=True)
        self._peer, self._next_peer = peer, None
        self._life = next(self.lives) if self.history and self.lives is not None else None
        peer.life.began, peer.life.start_up = now, _processor(peer, 0.0)
        self.history.append(peer.life)
        if self.rules.standby and self._life is not None:
            self._next_peer = self._launch(on_standby=True)

    def begin_life(self, now: float) -> None:
        """Lets the first process' life begin now."""
        self._life = None if self.lives is None else next(self.lives)
        life = self.history[-1]
        life.began, life.start_up = now, life.processor
        if self.rules.standby and self._life is not None:
            self._next_peer = self._launch(on_standby=True)

    def _launch(self, on_standby: bool) -> _PeerProcess:
        rules, number = self.rules, self.number * MOST_LIVES + len(self.history)
        stack = ExitStack()
        events, standby = rules.folder / f"events-{number}.jsonl", rules.folder / f"peer-{number}" / STANDBY
        standby.parent.mkdir()
        if on_standby:
            standby.touch()
        output = stack.enter_context(events.open("w"))
        module = "benchmarks.fleet.stepping_peer"
        process = stack.enter_context(
            joining(rules.url, rules.folder, rules.seed, number, output=output, module=module)
        )
        return _PeerProcess(PeerLife(number, events, 0.0), process, stack, standby)

    def tick(self, now: float) -> None:
        """Does what is due. Raises RuntimeError when a peer failed."""
        peer = self._peer
        if peer is None:
            if self.history and now >= self._next_at:
                self.start(now)
            return
        life = peer.life
        failed = not peer.is_noticed and peer.process.poll()
        life.processor = _processor(peer, life.processor)
        if not peer.is_throttled and self.rules.share < 1.0 and b'"ready"' in life.events.read_bytes():
            peer.is_throttled = True
            peer.stack.enter_context(throttled(peer.process, self.rules.share, self.offset))
        if failed:
            raise RuntimeError(f"A peer gave up: {self.rules.folder / f'peer-{life.number}.log'} says why.")
        if self._life is not None:
            self._end_life(now, peer, life.began + self._life.seconds, self._life.away)

    def _end_life(self, now: float, peer: _PeerProcess, end: float, away: float) -> None:
        if self.rules.notice is not None and not peer.is_noticed and now >= end - self.rules.notice:
            peer.is_noticed = True
            peer.process.send_signal(signal.SIGTERM)
        if now >= end:
            peer.life.killed = True
            self._next_at = now + away
            self._end_peer(now)

    def _end_peer(self, now: float) -> None:
        if self._peer is not None:
            self.history[-1].ended = now
            self._peer.end()
            self._peer = None

    def stop(self, now: float) -> None:
        """Kills the process, if there is one, and the one on standby."""
        self._end_peer(now)
        if self._next_peer is not None:
            self._next_peer.end()
            self._next_peer = None

    def paid(self, began: float, ended: float) -> float:
        """Returns the seconds between two times in which a machine was there."""
        return sum(
            max(0.0, min(life.ended or ended, ended) - max(life.began, began)) for life in self.history
        )


def _processor(peer: _PeerProcess, otherwise: float) -> float:
    """Returns the processor seconds of a process; those of an ended one are unknown."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return sum(seconds(peer.process.pid))
    return otherwise
