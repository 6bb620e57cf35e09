"""What takes long shows its progress: a bar on a terminal, lines elsewhere, nothing beside JSON."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from backend.commands.terminal.progress import TerminalProgress
from tests.integration.commands.command_runner import minga
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE


def on_a_terminal(code: str) -> tuple[str, str]:
    """Runs Python with its standard error on a terminal; returns what is on it, and standard output."""
    reader, terminal = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        check=True,
    )
    os.close(terminal)
    seen = b""
    try:
        while part := os.read(reader, 1 << 16):
            seen += part
    except OSError:
        pass  # The end of a terminal that nobody writes to.
    os.close(reader)
    return seen.decode(), done.stdout


def test_a_terminal_shows_a_bar_and_output_stays_where_it_belongs() -> None:
    shown, printed = on_a_terminal(
        "from backend.commands.terminal.progress import TerminalProgress\n"
        "with TerminalProgress('Reading', in_bytes=True) as progress:\n"
        "    progress.amount(500_000, 1_000_000, 'Uploading')\n"
        "    print('a line of output')\n"
        "    progress.step('Converting')\n"
    )
    assert "Uploading" in shown
    assert "0.5/1.0 MB" in shown
    assert "━" in shown
    assert "Converting" in shown
    assert printed == "a line of output\n"


def test_elsewhere_each_step_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalProgress("Reading") as progress:
        progress.amount(1, 2, "Uploading")
        progress.step("Converting [bold]")
    assert capsys.readouterr().err == "Reading\nConverting [bold]\n"
    with TerminalProgress("Reading", quiet=True) as progress:
        progress.step("Converting")
    assert capsys.readouterr().err == ""


def test_a_simulation_says_what_it_does_and_json_stays_alone(tmp_path: Path) -> None:
    task = write_task(tmp_path / "tiny", min_available_clients=4, quorum=2, deadline=5)
    words = ("simulate", task, "--clients", "6", "--rounds", "2")
    assert minga(*words).stderr == "Simulating 2 rounds.\n"
    as_json = minga(*words, "--json")
    assert as_json.stderr == ""
    assert json.loads(as_json.stdout)["plan"]["rounds"] == 2
