"""Shells complete commands, flags and choices by the scripts of `minga completion`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backend.__main__ import main
from backend.commands.terminal.all_commands import full_parser
from backend.commands.terminal.shell_completion import SCRIPTS, command_tree

BASH = 'source "$1"; COMP_WORDS=("${@:2}"); COMP_CWORD=$(($#-2)); _minga; echo "${COMPREPLY[@]}"'
CHECKS = {"bash": ["-n"], "zsh": ["-n"], "fish": ["--no-execute"]}


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", "bash"]) == 0
    path = tmp_path / "minga.bash"
    path.write_text(capsys.readouterr().out, "utf-8")
    return path


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["se"], "serve"),
        (["task", "pu"], "push"),
        (["task", "show", "--s"], "--server"),
        (["peer", "join", "--device", ""], "auto cpu cuda"),
        (["peer", "join", "http://127.0.0.1", "--device", "cu"], "cuda"),
        (["completion", ""], "bash zsh fish"),
        # Files, by bash itself.
        (["simulate", "models"], ""),
    ],
)
def test_bash_completes_what_fits(script: Path, words: list[str], completed: str) -> None:
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", script, "minga", *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == completed
    assert done.stderr == ""


def test_every_command_is_listed_and_completed_without_the_extras() -> None:
    """A server's installation has no TensorFlow, httpx and so on."""
    names = ("tensorflow", "keras", "httpx", "aiortc", "mkdocs", "playwright", "pyarrow", "PIL", "onnx")
    code = f"import sys; sys.modules.update(dict.fromkeys({names}))\nfrom backend.__main__ import main\n"
    for words in ([], ["completion", "bash"], ["replay", "--help"]):
        done = subprocess.run(
            [sys.executable, "-c", f"{code}sys.exit(main({words}))"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "replay" in done.stdout


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_command_and_flag_is_in_the_script_of_a_shell(shell: str, tmp_path: Path) -> None:
    tree = command_tree(full_parser())
    text = SCRIPTS[shell](tree)
    for one in tree:
        assert one.path in text
        for flag in one.flags:
            spelled = f"-l {flag.word[2:]} " if shell == "fish" and flag.word[:2] == "--" else flag.word
            assert spelled in text
    program = shutil.which(shell)
    if program is not None:
        (tmp_path / "script").write_text(text, "utf-8")
        subprocess.run([program, *CHECKS[shell], tmp_path / "script"], check=True)
