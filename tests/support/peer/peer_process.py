"""Runs a real peer process."""

from __future__ import annotations

import json
import os
import queue
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.plugins import evidence
from tests.support.programs.program_process import Preload, Process
from tests.support.timeouts import PATIENCE


class Peer:
    """`minga peer join` with its own home; its reports are read while it runs.

    Its updates are written to `witness`, if given (tests/support/peer/update_witness.py). It may be a `liar`
    (tests/support/peer/lying_peer.py). A `runner`, a module and its first arguments, runs the command in its
    own way.
    """

    def __init__(
        self,
        home: Path,
        *words: str,
        witness: Path | None = None,
        liar: str | None = None,
        runner: Sequence[str] = (),
    ) -> None:
        module, first, preload = "backend", list[str](), Preload.PEER
        if witness is not None:
            module, first, preload = "tests.support.peer.update_witness", [str(witness)], Preload.TENSORFLOW
        if liar is not None:
            runner = ("tests.support.peer.lying_peer", liar)
        if runner:
            (module, *first), preload = runner, Preload.TENSORFLOW
        words_after = ["--json", "--cache-dir", str(home / "cache"), "--device", "cpu"]
        self._log = evidence.log_file("peer")
        environment = {**os.environ, "HOME": str(home)}
        arguments = [*first, "peer", "join", *words, *words_after]
        self.process = Process(preload, module, *arguments, log=self._log, environment=environment)
        self.seen: list[dict[str, Any]] = []
        self._news: queue.Queue[dict[str, Any]] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._news.put(json.loads(line))

    def expect(self, event: str, seconds: float = PATIENCE) -> dict[str, Any]:
        """Returns the next report of `event`."""
        end = time.monotonic() + seconds
        while True:
            news = self.next(max(0.0, end - time.monotonic()))
            if news["event"] == event:
                return news

    def next(self, seconds: float = PATIENCE) -> dict[str, Any]:
        """Returns the next report. Raises queue.Empty if none comes."""
        news = self._news.get(timeout=seconds)
        self.seen.append(news)
        return news

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signals it to end; returns its exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def end(self) -> tuple[int, str]:
        """Waits for its end; returns exit code and standard error."""
        code = self.process.wait(PATIENCE)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code, self._log.read_text()


@contextmanager
def joined(
    home: Path,
    *words: str,
    witness: Path | None = None,
    liar: str | None = None,
    runner: Sequence[str] = (),
) -> Iterator[Peer]:
    """Yields a peer that is killed at the end if it still runs."""
    home.mkdir(exist_ok=True)
    peer = Peer(home, *words, witness=witness, liar=liar, runner=runner)
    try:
        yield peer
    finally:
        if peer.process.poll() is None:
            peer.process.kill()
        peer.end()
