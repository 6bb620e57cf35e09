"""Starts and controls a process of light clients for the chaos run."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.support.dense_task import ROOT
from benchmarks.units.clients.chaos_clients import client_setup
from benchmarks.units.clients.light_client import Character

# Events that the process reports during the run.
WATCHED = ("caught", "died", "late")
News: TypeAlias = "queue.Queue[tuple[str, str]]"


class Crowd:
    """Clients in their own process; `news` receives their events: a word and a client's id."""

    def __init__(self, address: str, task: str, cast: Sequence[Character], cache: Path, news: News) -> None:
        self._cast, self._news = cast, news
        command = [sys.executable, "-m", "benchmarks.units.clients.client_process", address, task, str(cache)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._last = ""
        self._reading = threading.Thread(target=self._read)

    def begin(self, tokens: Sequence[str]) -> None:
        """Starts the clients."""
        setups = [client_setup(character, token) for character, token in zip(self._cast, tokens, strict=True)]
        self._write(json.dumps(setups))
        self._reading.start()

    def end(self) -> list[dict[str, Any]]:
        """Ends the clients; returns their diaries, each with its client's character."""
        self._write("end")
        self._reading.join()
        self._process.wait()
        assert self._last, "the clients ended"
        diaries = json.loads(self._last)
        return [{**diary, "character": asdict(one)} for diary, one in zip(diaries, self._cast, strict=True)]

    def kill(self) -> None:
        """Kills the process after another failure."""
        self._process.kill()
        self._process.communicate()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            word, _, rest = line.partition(" ")
            if word in WATCHED:
                self._news.put((word, rest.strip()))
            self._last = line
